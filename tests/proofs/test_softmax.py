"""The symbolic blocks, given numbers, must say what numpy says about softmax."""

import numpy as np
import pytest
import sympy as sp

from logitlib.proofs import softmax as blocks
from logitlib.proofs.softmax import a, i, in_probabilities, j, linear, m, n, p, t, total, v, y

LOGITS = np.array([0.3, -1.2, 2.0, 0.7])
TARGETS = np.array([0.1, 0.0, 0.6, 0.3])
VECTOR = np.array([1.0, -2.0, 0.5, 3.0])
PROBABILITIES = np.exp(LOGITS) / np.exp(LOGITS).sum()


def value(expression, **labels):
    """Number of the expression for four labels; labels are counted from 1."""
    numbers = {a: LOGITS, p: PROBABILITIES, t: TARGETS, v: VECTOR}
    named = expression.subs({sp.Symbol(name, integer=True): at for name, at in labels.items()})
    plain = named.subs(n, 4).doit()
    entries = {x: numbers[x.base][int(x.indices[0]) - 1] for x in plain.atoms(sp.Indexed)}
    return float(plain.subs(entries))


def slope(function, label, step=1e-6):
    up, down = LOGITS.copy(), LOGITS.copy()
    up[label - 1] += step
    down[label - 1] -= step
    return (function(up) - function(down)) / (2 * step)


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum()


@pytest.mark.parametrize("label", [1, 2, 3, 4])
def test_probability_is_the_softmax_of_the_logits(label):
    assert value(blocks.probability(m), m=label) == pytest.approx(PROBABILITIES[label - 1])


@pytest.mark.parametrize("at", [1, 2, 4])
@pytest.mark.parametrize("label", [1, 3])
def test_derivative_is_the_slope_of_the_numbers(label, at):
    surprise = blocks.derivative(-sp.log(blocks.probability(y)), j)
    want = slope(lambda logits: -np.log(softmax(logits)[label - 1]), at)
    assert value(surprise, j=at, y=label) == pytest.approx(want, abs=1e-8)


def test_derivative_holds_under_a_sum():
    squared = blocks.derivative(total((blocks.probability(i) - t[i]) ** 2), j)
    for at in (1, 2, 3, 4):
        want = slope(lambda logits: ((softmax(logits) - TARGETS) ** 2).sum(), at)
        assert value(squared, j=at) == pytest.approx(want, abs=1e-8)


def test_derivative_leaves_no_case_open():
    squared = blocks.derivative(total((blocks.probability(i) - t[i]) ** 2), j)
    assert not squared.has(sp.Piecewise)


def test_derivative_refuses_the_summation_index():
    with pytest.raises(ValueError, match="label must differ from i"):
        blocks.derivative(total(a[i]), i)


def test_resolve_settles_only_the_labels_that_it_is_given():
    pick = total(v[i] * sp.KroneckerDelta(i, m))
    assert blocks.resolve(pick, m) == v[m]
    assert blocks.resolve(pick, j).has(sp.Piecewise)


@pytest.mark.parametrize(
    "expression",
    [
        total(p[i] * (v[i] - total(p[i] * v[i])) ** 2),
        total(p[i] * (v[i] - v[j]) * 3) - v[m],
        total((p[i] - t[i]) * (p[i] + t[i])) * total(v[i]),
    ],
)
def test_linear_keeps_the_value_and_leaves_monomials_in_the_sums(expression):
    flat = linear(expression)
    assert value(flat, j=2, m=3) == pytest.approx(value(expression, j=2, m=3))
    for sum_ in flat.atoms(sp.Sum):
        assert not sum_.function.has(sp.Add)
        assert not sum_.function.has(j)


@pytest.mark.parametrize(
    "expression",
    [
        blocks.probability(j) * blocks.probability(m) ** 2,
        sp.exp(a[j] - a[m]) + total(sp.exp(2 * a[i]) * v[i]) / total(sp.exp(a[i])) ** 2,
        blocks.derivative(-sp.log(blocks.probability(y)), j),
    ],
)
def test_in_probabilities_keeps_the_value_and_leaves_no_exponential(expression):
    written = in_probabilities(expression)
    assert value(written, j=1, m=4, y=2) == pytest.approx(value(expression, j=1, m=4, y=2))
    assert not written.has(sp.exp)


def test_in_probabilities_gives_an_unmatched_sum_back():
    assert value(in_probabilities(sp.exp(a[j])), j=3) == pytest.approx(np.exp(LOGITS[2]))
    other = sp.Symbol("other")
    assert in_probabilities(sp.exp(a[j] + other)).has(sp.exp(other))


def test_shifted_adds_the_same_number_to_every_logit():
    b = sp.Symbol("b", real=True)
    moved = blocks.shifted(total(a[i] * v[i]) + a[j], b).subs(b, 10)
    want = ((LOGITS + 10) * VECTOR).sum() + LOGITS[1] + 10
    assert value(moved, j=2) == pytest.approx(want)
    assert blocks.shifted(blocks.probability(m), b) == blocks.probability(m)
