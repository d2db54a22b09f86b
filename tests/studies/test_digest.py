import pytest

from logitlib.studies._digest import code_digests, study_digest


def digests(toy):
    return code_digests(toy.name)


def test_the_digest_follows_a_reexported_name_to_its_module(toy):
    assert list(digests(toy)) == ["toylib.maths", "toylib.study"]


def test_a_change_of_a_library_module_changes_its_digest_and_no_other(toy):
    before = digests(toy)
    toy.replace("maths.py", "x * x", "x ** 2")
    after = digests(toy)
    assert before["toylib.study"] == after["toylib.study"]
    assert before["toylib.maths"] != after["toylib.maths"]


def test_comments_docstrings_and_layout_do_not_count(toy):
    before = digests(toy)
    toy.edit("maths.py", '"""New."""\n# why\ndef square(x):\n  """Doc."""\n  return (x*x/3)\n')
    toy.edit("maths.py", '"""Other."""\ndef square(x):\n    """Words."""\n    return x * x / 3\n')
    with_docstring = digests(toy)
    toy.edit("maths.py", '"""New."""\n# why\ndef square(x):\n  """Doc."""\n  return (x*x/3)\n')
    assert digests(toy) == with_docstring
    toy.edit("maths.py", "def square(x):\n    return x * x / 3\n")
    assert digests(toy) == before == with_docstring


def test_a_string_that_is_no_docstring_counts(toy):
    toy.edit("maths.py", "def square(x):\n    name = 'a'\n    return x\n")
    before = digests(toy)
    toy.edit("maths.py", "def square(x):\n    name = 'b'\n    return x\n")
    assert digests(toy) != before


def test_a_module_that_nothing_imports_does_not_count(toy):
    before = digests(toy)
    toy.edit("other.py", "x = 1\n")
    assert digests(toy) == before


def test_what_a_function_or_a_helper_imports_counts(toy):
    toy.edit("deep.py", "three = 3\n")
    toy.edit("maths.py", "def square(x):\n    from toylib import deep\n    return x / deep.three\n")
    assert "toylib.deep" in digests(toy)
    before = digests(toy)
    toy.edit("deep.py", "three = 4\n")
    assert digests(toy) != before


def test_plain_imports_and_definitions_in_a_package_file_count(toy):
    toy.edit(
        "__init__.py", "import toylib.maths\ndef square(x):\n    return toylib.maths.square(x)\n"
    )
    assert list(digests(toy)) == ["toylib", "toylib.maths", "toylib.study"]


def test_relative_imports_are_refused(toy):
    toy.edit("other.py", "one = 1\n")
    toy.edit("maths.py", "from . import other\n\n\ndef square(x):\n    return other.one\n")
    with pytest.raises(ValueError, match=r"toylib\.maths must use absolute imports"):
        digests(toy)


def test_the_losses_of_another_study_do_not_count():
    found = code_digests("logitlib.studies.label_coupling")
    assert "logitlib.training" in found
    assert "logitlib.metrics.ranking" in found
    assert "logitlib.metrics" not in found
    assert "logitlib.metrics.calibration" not in found
    assert all(name.startswith("logitlib.") for name in found)


def test_a_digest_changes_with_the_config():
    code = {"a": "1"}
    assert study_digest({"x": 1}, code) == study_digest({"x": 1}, code)
    assert study_digest({"x": 1}, code) != study_digest({"x": 2}, code)
    assert study_digest({"x": 1}, code) != study_digest({"x": 1}, {"a": "2"})
