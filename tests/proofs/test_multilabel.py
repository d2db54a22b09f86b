from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitlib.proofs.multilabel import normalised, presence, sets_with_presence, share

EXAMPLE = {(1,): Fraction(2, 5), (2, 3, 4): Fraction(3, 5)}
PROBABILITIES = st.lists(st.fractions(0, 1, max_denominator=12), min_size=1, max_size=7)


def fractions(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(part) for part in text.split())


def test_the_example_of_the_book():
    assert presence(EXAMPLE, 4) == fractions("2/5 3/5 3/5 3/5")
    assert share(EXAMPLE, 4) == fractions("2/5 1/5 1/5 1/5")
    assert normalised(presence(EXAMPLE, 4)) == fractions("2/11 3/11 3/11 3/11")


def test_a_label_of_no_set_has_presence_and_share_0():
    assert presence(EXAMPLE, 5)[4] == share(EXAMPLE, 5)[4] == 0


def test_presence_counts_the_empty_set_and_share_refuses_it():
    sets = {(): Fraction(1, 4), (2,): Fraction(3, 4)}
    assert presence(sets, 2) == (0, Fraction(3, 4))
    with pytest.raises(ValueError, match="empty set probability 0"):
        share(sets, 2)


def test_an_empty_set_of_probability_0_is_no_empty_set():
    assert share({(): Fraction(0), (1,): Fraction(1)}, 1) == (1,)


@given(PROBABILITIES)
def test_sets_with_presence_have_that_presence_exactly(eta):
    assert presence(sets_with_presence(eta), len(eta)) == tuple(eta)


@given(PROBABILITIES)
def test_sizes_are_the_expected_size_rounded_down_or_up(eta):
    sizes = {len(labels) for labels in sets_with_presence(eta)}
    assert sizes <= {floor(sum(eta)), ceil(sum(eta))}


@given(PROBABILITIES)
def test_there_are_at_most_n_plus_1_sets_each_of_positive_probability(eta):
    sets = sets_with_presence(eta)
    assert len(sets) <= len(eta) + 1
    assert min(sets.values()) > 0


@given(PROBABILITIES.filter(lambda eta: sum(eta) >= 1))
def test_shares_sum_to_1_and_lie_below_presence(eta):
    sets = sets_with_presence(eta)
    shares = share(sets, len(eta))
    assert sum(shares) == 1
    assert all(s <= e for s, e in zip(shares, eta, strict=True))


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({(1,): Fraction(1, 2)}, "sum to 1, got the sum 1/2"),
        ({(1,): Fraction(3, 2), (2,): Fraction(-1, 2)}, "non-negative"),
        ({}, "got the sum 0"),
        ({(3,): Fraction(1)}, r"distinct labels in 1\.\.2, got the set \(3,\)"),
        ({(0,): Fraction(1)}, r"distinct labels in 1\.\.2"),
        ({(1, 1): Fraction(1)}, "distinct labels"),
    ],
)
@pytest.mark.parametrize("function", [presence, share])
def test_what_is_no_distribution_over_label_sets_is_refused(function, sets, message):
    with pytest.raises(ValueError, match=message):
        function(sets, 2)


@pytest.mark.parametrize("weights", [(), (Fraction(0),), (Fraction(2), Fraction(-1))])
def test_weights_without_a_positive_sum_or_with_a_negative_entry_are_refused(weights):
    with pytest.raises(ValueError, match="weights must be non-negative"):
        normalised(weights)


@pytest.mark.parametrize("outside", [Fraction(-1, 9), Fraction(10, 9)])
def test_probabilities_outside_0_to_1_are_refused(outside):
    with pytest.raises(ValueError, match=r"eta must lie in \[0, 1\]"):
        sets_with_presence([outside, Fraction(1, 2)])
