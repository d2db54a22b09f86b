import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitlib.datasets import grouped_folds, load_debtags

NAMES = st.lists(st.text(max_size=5), max_size=30)


@given(groups=NAMES, n_folds=st.integers(2, 20), salt=st.text(max_size=5))
def test_a_fold_is_the_first_64_bits_of_the_digest_modulo_the_number_of_folds(
    groups, n_folds, salt
):
    want = [
        int(hashlib.sha256(f"{salt}:{group}".encode()).hexdigest()[:16], 16) % n_folds
        for group in groups
    ]
    got = grouped_folds(groups, n_folds, salt=salt)
    assert got.tolist() == want
    assert got.dtype == np.int64
    assert got.shape == (len(groups),)


def test_the_folds_of_recorded_results_never_move():
    # literal values: a change of salt, hash or default would make old and new results differ
    groups = ["mono", "libreoffice", "vim", "emacs", "r-base", "mono"]
    assert grouped_folds(groups).tolist() == [1, 7, 1, 0, 6, 1]


@given(groups=NAMES, order=st.randoms())
def test_reordering_and_dropping_rows_moves_no_other_row(groups, order):
    rows = order.sample(range(len(groups)), len(groups) // 2)
    some = grouped_folds([groups[row] for row in rows])
    assert some.tolist() == grouped_folds(groups)[rows].tolist()


def test_debtags_sources_stay_whole_in_ten_folds_of_similar_size():
    sources = load_debtags().sources
    folds = grouped_folds(sources)
    assert len(set(zip(sources, folds, strict=True))) == len(set(sources)) == 8481
    sizes = np.bincount(folds, minlength=10)
    assert sizes.shape == (10,)
    assert sizes.min() > 1000
    assert sizes.max() < 1400


def test_another_salt_gives_an_unrelated_assignment():
    groups = [str(i) for i in range(2000)]
    first, second = grouped_folds(groups), grouped_folds(groups, salt="other")
    # of unrelated assignments to 10 folds one tenth agrees; 6 standard deviations are .04
    assert abs(np.mean(first == second) - 0.1) < 0.04


@pytest.mark.parametrize(
    ("groups", "n_folds", "error", "message"),
    [
        (["a"], 1, ValueError, "n_folds must be at least 2, got 1"),
        (["a"], -3, ValueError, "n_folds must be at least 2, got -3"),
        (["a"], 2.0, TypeError, "n_folds must be an int, got 2.0 of type float"),
        ("abc", 2, TypeError, "groups must be one str for each row, got the single str 'abc'"),
        ([1, 2], 2, TypeError, "groups must hold str, got 1 of type int"),
    ],
)
def test_bad_arguments_are_named(groups, n_folds, error, message):
    with pytest.raises(error, match=message):
        grouped_folds(groups, n_folds)
