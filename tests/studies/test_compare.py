import pytest

from logitlib.studies._compare import first_difference

OLD = [{"a": 1.0, "b": "x"}]


@pytest.mark.parametrize(
    ("new", "tolerances", "message"),
    [
        (OLD * 2, {}, "there are 2 rows, not 1"),
        ([{"a": 1.0}], {}, "row 1 has the fields ['a'], not ['a', 'b']"),
        ([{"a": 1.0, "b": "y"}], {"a": 9.0, "b": 9.0}, "field b of row 1 is 'y', not 'x'"),
        ([{"a": 1.1, "b": "x"}], {"a": 0.05}, "field a of row 1 is 1.1, not 1.0"),
        ([{"a": 0.9, "b": "x"}], {"a": 0.05}, "field a of row 1 is 0.9, not 1.0"),
        ([{"a": 1.0001, "b": "x"}], {}, "field a of row 1 is 1.0001, not 1.0"),
        ([{"a": None, "b": "x"}], {"a": 9.0}, "field a of row 1 is None, not 1.0"),
    ],
)
def test_a_difference_of_every_kind_is_told(new, tolerances, message):
    assert first_difference(OLD, new, tolerances) == message


def test_equal_rows_and_rows_within_the_tolerance_do_not_differ():
    assert first_difference(OLD, [dict(OLD[0])], {}) == ""
    assert first_difference(OLD, [{"a": 1.04, "b": "x"}], {"a": 0.05}) == ""
    assert first_difference([], [], {}) == ""


def test_whole_numbers_have_no_tolerance():
    """Seeds, folds and epochs are names or counts, not measurements."""
    assert first_difference([{"seed": 1}], [{"seed": 2}], {"seed": 5.0})
