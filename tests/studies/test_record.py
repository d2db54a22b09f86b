import json
import os

import pytest

from logitlib.studies import _record, load_result, select
from logitlib.studies._record import read_result, results_folder, rounded, write_result

PROVENANCE = {"study": "toy", "digest": "0"}


def test_a_result_comes_back_as_it_was_written(tmp_path):
    rows = [{"b": 1, "a": "µ"}, {"a": None, "c": [0.5, True]}]
    path = tmp_path / "new" / "toy.jsonl"
    write_result(path, PROVENANCE, rows)
    assert read_result(path) == _record.Result(PROVENANCE, rows)
    assert path.read_text(encoding="utf-8").splitlines()[1] == '{"a": "µ", "b": 1}'


@pytest.mark.parametrize("failing", ["replace", "fsync"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing):
    path = tmp_path / "toy.jsonl"
    write_result(path, PROVENANCE, [{"a": 1}])

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="disk full"):
        write_result(path, PROVENANCE, [{"a": 2}])
    assert read_result(path).rows == [{"a": 1}]
    assert list(tmp_path.iterdir()) == [path]


def test_floats_keep_six_digits_and_everything_else_stays():
    assert rounded({"a": [1234.56789, 1e-9 / 3], "b": (True, 7, "x", None)}) == {
        "a": [1234.57, 3.33333e-10],
        "b": [True, 7, "x", None],
    }
    assert rounded([float("nan"), float("inf"), -float("inf")]) == [None, None, None]
    assert rounded(True) is True


def test_results_are_found_from_a_folder_below(tmp_path, monkeypatch):
    (tmp_path / "book" / "results").mkdir(parents=True)
    (tmp_path / "chapters" / "one").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "chapters" / "one")
    assert results_folder() == tmp_path / "book" / "results"


def test_results_are_found_in_the_clone_that_an_editable_install_points_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (results_folder() / "..").resolve().name == "book"


def test_without_a_clone_the_error_says_where_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_record.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="inside a clone of the book"):
        results_folder()


def test_the_summary_says_what_when_and_with_what():
    result = load_result("softmax_vs_sigmoid", "quick")
    text = result.summary()
    assert "softmax_vs_sigmoid, preset quick, seeds 0, 1: recorded 20" in text
    assert f"torch {result.provenance['versions']['torch']}" in text


def test_a_missing_result_names_its_command(toy):
    with pytest.raises(FileNotFoundError, match="logitlib study toy --preset quick"):
        load_result("toy", "quick")


@pytest.mark.parametrize("text", ["", "{", '{"a": 1}\n', "[1]\n", '{"digest": 1}\n{"a'])
def test_a_file_that_is_no_result_is_named(toy, text):
    (toy.results / "toy-full.jsonl").write_text(text)
    with pytest.raises(ValueError, match=r"toy-full\.jsonl is not a recorded result"):
        load_result("toy")


def test_select_wants_every_field():
    rows = [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"b": 2}]
    assert select(rows, a=1, b=2) == [{"a": 1, "b": 2}]
    assert select(rows, a=None) == []
    assert _record.Result({}, rows).select(b=2) == rows[1:]


def test_what_json_cannot_say_is_refused_not_written(tmp_path):
    with pytest.raises(TypeError):
        write_result(tmp_path / "toy.jsonl", PROVENANCE, [{"a": json}])
    assert list(tmp_path.iterdir()) == []
