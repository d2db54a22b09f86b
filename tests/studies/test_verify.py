import json

import pytest

from logitlib.studies import load_result, verify_recorded
from logitlib.studies._execute import record


@pytest.fixture
def recorded(toy):
    record(toy.name, "quick", [0, 1])
    record(toy.name, "full", [0])
    toy.log()
    return toy


def edit_provenance(toy, preset, change):
    path = toy.results / f"study-{preset}.jsonl"
    first, _, rest = path.read_text().partition("\n")
    provenance = json.loads(first)
    change(provenance)
    path.write_text(json.dumps(provenance) + "\n" + rest)


def test_code_and_config_as_recorded_are_current_and_nothing_runs(recorded):
    assert verify_recorded(recorded.name).status == "current"
    assert recorded.log() == []


def test_changed_code_with_the_same_quick_rows_is_unchanged_numbers(recorded):
    recorded.replace("maths.py", "x * x / 3", "x ** 2 / 3")
    outcome = verify_recorded(recorded.name)
    assert outcome.status == "unchanged numbers"
    assert "toylib.maths changed" in outcome.message
    assert "the quick rows, run again, are equal" in outcome.message
    assert recorded.log() == ["1/0", "1/1", "2/0", "2/1"]  # the recorded seeds


def test_a_quick_preset_recorded_again_with_the_same_rows_vouches_without_a_run(recorded):
    recorded.replace("maths.py", "x * x / 3", "x ** 2 / 3")
    record(recorded.name, "quick", [0, 1])
    recorded.replace("maths.py", "x ** 2 / 3", "(x * x) / 3 + 0")
    record(recorded.name, "quick", [0, 1])
    recorded.log()
    outcome = verify_recorded(recorded.name)
    assert outcome.status == "unchanged numbers"
    assert "toylib.maths changed" in outcome.message
    assert recorded.log() == []


@pytest.mark.parametrize("how", ["other rows", "other seeds", "other config"])
def test_a_quick_preset_recorded_again_with_anything_else_does_not_vouch(recorded, how):
    new = {"other rows": "x * x / 4", "other seeds": "x ** 2 / 3", "other config": "x ** 2 / 3"}
    recorded.replace("maths.py", "x * x / 3", new[how])
    if how == "other config":
        recorded.replace("study.py", "Config((1, 2))", "Config((2, 1))")
    record(recorded.name, "quick", [0] if how == "other seeds" else [0, 1])
    assert load_result("study", "quick").provenance["same_rows"] == []
    recorded.log()
    outcome = verify_recorded(recorded.name)
    assert outcome.status == "stale"
    assert "logitlib study toylib.study --preset full" in outcome.message
    assert recorded.log() == []


def test_a_full_preset_recorded_alone_needs_its_quick_rows(recorded):
    recorded.replace("maths.py", "x * x / 3", "x ** 2 / 3")
    record(recorded.name, "full", [0])
    assert verify_recorded(recorded.name).status == "stale"
    record(recorded.name, "quick", [0, 1])
    assert verify_recorded(recorded.name).status == "current"


def test_the_same_code_recorded_twice_is_current(recorded):
    record(recorded.name, "quick", [0, 1])
    assert load_result("study", "quick").provenance["same_rows"] == []
    assert verify_recorded(recorded.name).status == "current"


def test_changed_numbers_are_stale_and_the_message_names_field_and_command(recorded):
    recorded.replace("maths.py", "x * x / 3", "x * x / 3.001")
    outcome = verify_recorded(recorded.name)
    assert outcome.status == "stale"
    assert "field y of row 1 is 1.33322, not 1.33333" in outcome.message
    assert "logitlib study toylib.study --preset quick" in outcome.message


@pytest.mark.parametrize("preset", ["quick", "full"])
def test_a_changed_config_is_stale_without_a_run(recorded, preset):
    edit_provenance(recorded, preset, lambda p: p["config"].update(shift=2.0))
    outcome = verify_recorded(recorded.name)
    assert outcome.status == "stale"
    assert f"the {preset} preset" in outcome.message
    assert recorded.log() == []


def test_a_changed_preset_is_stale(recorded):
    recorded.replace("study.py", "Config((1, 2, 3, 4))", "Config((1, 2, 3))")
    assert verify_recorded(recorded.name).status == "stale"


def test_rows_within_the_stated_tolerances_stand_and_the_message_says_so(recorded):
    recorded.replace("study.py", "TOLERANCES = {}", "TOLERANCES = {'y': 0.1, 'total': 1.0}")
    recorded.replace("maths.py", "x * x / 3", "x * x / 3 + .09")
    outcome = verify_recorded(recorded.name)
    assert outcome.status == "unchanged numbers"
    assert "equal within the stated tolerances" in outcome.message
    recorded.replace("maths.py", "+ .09", "+ .11")
    assert verify_recorded(recorded.name).status == "stale"


def test_a_field_without_a_tolerance_must_be_equal(recorded):
    recorded.replace("study.py", "TOLERANCES = {}", "TOLERANCES = {'y': 0.1}")
    recorded.replace("maths.py", "x * x / 3", "x * x / 3 + .09")
    assert "field total of row 5" in verify_recorded(recorded.name).message


def test_rows_within_the_tolerances_vouch_as_well(recorded):
    recorded.replace("study.py", "TOLERANCES = {}", "TOLERANCES = {'y': 0.1, 'total': 1.0}")
    recorded.replace("maths.py", "x * x / 3", "x * x / 3 + .09")
    record(recorded.name, "quick", [0, 1])
    recorded.log()
    assert verify_recorded(recorded.name).status == "unchanged numbers"
    assert recorded.log() == []


@pytest.mark.parametrize("preset", ["quick", "full"])
def test_a_missing_file_names_its_command(recorded, preset):
    (recorded.results / f"study-{preset}.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=f"logitlib study study --preset {preset}"):
        verify_recorded(recorded.name)
