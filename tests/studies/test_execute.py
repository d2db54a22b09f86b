import json

import pytest
import torch

from logitlib.studies._execute import record, rerun, study_header
from logitlib.studies._record import read_result
from logitlib.studies._study import find_study, plain, preset_config


def test_a_result_holds_its_provenance_and_then_the_rows_in_the_order_of_the_plan(toy):
    path = record(toy.name, "full", [0, 1])
    assert path == toy.results / "study-full.jsonl"
    result = read_result(path)
    assert [row.get("x") for row in result.rows] == [1, 1, 2, 2, 3, 3, 4, 4, None]
    assert result.rows[0] == {"x": 1, "seed": 0, "y": 1.33333}
    then = result.provenance
    assert (then["study"], then["preset"], then["seeds"]) == ("study", "full", [0, 1])
    assert then["config"] == {"numbers": [1, 2, 3, 4], "shift": 1.0}
    assert set(then["versions"]) == {
        "python",
        "logitlib",
        "numpy",
        "scipy",
        "scikit-learn",
        "torch",
    }
    assert set(then["code"]) == {"toylib.study", "toylib.maths"}
    assert {"digest", "machine", "jobs", "started", "unit_seconds"} <= set(then)


def test_the_same_run_writes_the_same_rows(toy):
    first = record(toy.name, "quick", [0]).read_text().partition("\n")[2]
    assert record(toy.name, "quick", [0]).read_text().partition("\n")[2] == first
    assert len(toy.log()) == 4  # a finished result is no partial one: the second run ran again


def test_an_interrupted_run_goes_on_where_it_stopped(toy):
    (toy.package / "stop").touch()
    with pytest.raises(KeyboardInterrupt):
        record(toy.name, "full", [0, 1])
    assert toy.log() == ["1/0", "1/1", "2/0", "2/1", "3/0"]
    assert not (toy.results / "study-full.jsonl").exists()
    (toy.package / "stop").unlink()
    path = record(toy.name, "full", [0, 1])
    assert toy.log() == ["3/0", "3/1", "4/0", "4/1"]
    assert [row.get("x") for row in read_result(path).rows] == [1, 1, 2, 2, 3, 3, 4, 4, None]
    assert [file.name for file in toy.results.iterdir()] == ["study-full.jsonl"]


def interrupt(toy, seeds=(0,)):
    (toy.package / "stop").touch()
    with pytest.raises(KeyboardInterrupt):
        record(toy.name, "full", list(seeds))
    (toy.package / "stop").unlink()
    toy.log()
    return toy.results / "study-full.jsonl.partial"


def test_a_line_torn_by_a_crash_is_run_again(toy):
    partial = interrupt(toy)
    partial.write_bytes(partial.read_bytes()[:-9])
    record(toy.name, "full", [0])
    assert toy.log() == ["2/0", "3/0", "4/0"]


def test_a_line_that_lost_only_its_newline_is_run_again(toy):
    """The next line would be glued to it."""
    partial = interrupt(toy)
    partial.write_bytes(partial.read_bytes()[:-1])
    record(toy.name, "full", [0])
    assert toy.log() == ["2/0", "3/0", "4/0"]


@pytest.mark.parametrize("change", ["config", "code", "seeds"])
def test_the_partial_file_of_other_work_is_set_aside(toy, change):
    partial = interrupt(toy)
    seeds = [0]
    if change == "config":
        toy.replace("study.py", "shift: float = 1.0", "shift: float = 2.0")
    elif change == "code":
        toy.replace("maths.py", "x * x", "x + x")
    else:
        seeds = [0, 1]
    states = []
    record(toy.name, "full", seeds, on_progress=states.append)
    assert len(toy.log()) == 4 * len(seeds)
    assert states[0].set_aside == partial.with_name("study-full.jsonl.partial.other")
    assert states[0].set_aside.is_file()


def test_progress_tells_what_is_done_and_what_is_left(toy):
    interrupt(toy)
    states = []
    record(toy.name, "full", [0], on_progress=states.append)
    assert [(s.n_done, s.n_resumed, s.n_units) for s in states] == [(2, 2, 4), (3, 2, 4), (4, 2, 4)]
    assert states[0].seconds_left is None
    assert states[1].seconds_left == pytest.approx(states[1].elapsed)
    assert states[2].seconds_left == 0


def test_code_that_changes_during_the_run_is_not_recorded(toy):
    def edit(state):
        if state.n_done == 1:
            (toy.package / "maths.py").write_text("def square(x):\n    return 0.0\n")

    with pytest.raises(RuntimeError, match="changed during the run"):
        record(toy.name, "quick", [0], on_progress=edit)
    assert not (toy.results / "study-quick.jsonl").exists()
    assert (toy.results / "study-quick.jsonl.partial").exists()


def test_two_workers_write_what_one_writes(toy):
    one = read_result(record(toy.name, "full", [0, 1], out=toy.folder / "one.jsonl"))
    two = read_result(record(toy.name, "full", [0, 1], out=toy.folder / "two.jsonl", jobs=2))
    assert one.rows == two.rows
    assert (one.provenance["jobs"], two.provenance["jobs"]) == (1, 2)


def test_rerun_gives_the_recorded_rows_and_writes_nothing(toy):
    assert rerun(toy.name, "quick", [0]) == read_result(record(toy.name, "quick", [0])).rows
    (toy.results / "study-quick.jsonl").unlink()
    rerun(toy.name, "quick", [0])
    assert list(toy.results.iterdir()) == []


def test_units_run_on_one_thread_and_the_setting_comes_back(toy):
    toy.replace("study.py", '"y": square(x)', '"y": __import__("torch").get_num_threads()')
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert rerun(toy.name, "quick", [0])[0]["y"] == 2  # 1 thread, and the shift of 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_study_with_nothing_but_run_has_a_unit_a_seed(toy):
    toy.edit(
        "study.py",
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Config:\n    n: int = 1\n"
        "PRESETS = {'quick': Config(), 'full': Config(2)}\n"
        "def run(config, *, seed):\n    return [{'seed': seed, 'n': config.n}]\n",
    )
    states = []
    path = record(toy.name, "full", [3, 5], on_progress=states.append)
    assert read_result(path).rows == [{"seed": 3, "n": 2}, {"seed": 5, "n": 2}]
    assert states[-1].unit == {"seed": 5}


def test_a_config_becomes_plain_json(toy):
    study = find_study(toy.name)
    settings = plain(preset_config(study, "quick"))
    assert settings == {"numbers": [1, 2], "shift": 1.0}
    header = study_header(toy.name, "quick", preset_config(study, "quick"), [0])
    assert json.loads(json.dumps(header)) == header


@pytest.mark.parametrize("name", ["no_such_study", "no.such.study", "toylib.nothing"])
def test_an_unknown_study_is_named(toy, name):
    with pytest.raises(ValueError, match=f"NAME must be .* got '{name}'"):
        find_study(name)


def test_an_unknown_preset_is_named(toy):
    with pytest.raises(ValueError, match="--preset must be one of quick, full, got 'huge'"):
        record(toy.name, "huge", [0])
