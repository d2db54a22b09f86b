"""``logitlib study`` from the outside, with the toy study."""

import pytest
from typer.testing import CliRunner

from logitlib.cli import app
from logitlib.studies import _record
from logitlib.studies._record import read_result


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "NO_COLOR": "1"})


def test_a_study_is_recorded_and_the_file_named(toy):
    result = run("study", toy.name, "--preset", "full", "--seeds", "3", "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert f"recorded {toy.results / 'study-full.jsonl'}" in result.output
    assert "study full: 12 of 12 units" in result.output
    assert read_result(toy.results / "study-full.jsonl").provenance["seeds"] == [0, 1, 2]


@pytest.mark.parametrize(("preset", "n_seeds"), [("quick", 2), ("full", 5)])
def test_the_number_of_seeds_has_a_default_for_each_preset(toy, preset, n_seeds):
    assert run("study", toy.name, "--preset", preset).exit_code == 0
    seeds = read_result(toy.results / f"study-{preset}.jsonl").provenance["seeds"]
    assert seeds == list(range(n_seeds))


def test_the_result_goes_to_the_file_asked_for(toy):
    path = toy.folder / "here" / "rows.jsonl"
    assert run("study", toy.name, "--out", str(path)).exit_code == 0
    assert read_result(path).provenance["preset"] == "quick"
    assert list(toy.results.iterdir()) == []


def test_an_interruption_exits_with_130_and_the_same_command_goes_on(toy):
    (toy.package / "stop").touch()
    result = run("study", toy.name, "--preset", "full", "--seeds", "1")
    assert result.exit_code == 130
    assert "error: interrupted: finished units are kept" in result.output
    (toy.package / "stop").unlink()
    result = run("study", toy.name, "--preset", "full", "--seeds", "1")
    assert result.exit_code == 0
    assert "going on after 2 of 4 units" in result.output
    assert toy.log() == ["1/0", "2/0", "3/0", "3/0", "4/0"]


def test_a_partial_file_of_other_work_is_reported(toy):
    (toy.package / "stop").touch()
    run("study", toy.name, "--preset", "full", "--seeds", "1")
    (toy.package / "stop").unlink()
    output = run("study", toy.name, "--preset", "full", "--seeds", "2").output
    assert "is of other code, config or seeds; moved to" in output
    assert "going on" not in output


def test_an_unknown_import_path_is_an_error_not_a_traceback(toy):
    result = run("study", "toylib.nothing")
    assert result.exit_code == 1
    assert "error: NAME must be a study or its import path, got 'toylib.nothing'" in result.output


def test_outside_a_clone_the_error_says_what_is_missing(toy, monkeypatch):
    monkeypatch.chdir(toy.folder.parent)
    monkeypatch.setattr(_record.importlib.util, "find_spec", lambda name: None)
    result = run("study", toy.name)
    assert result.exit_code == 1
    assert "no folder book/results" in result.output
