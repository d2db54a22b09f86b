"""Binary cross-entropy: its formula, its tails and its two derivatives."""

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, xlogy
from torch.nn.functional import binary_cross_entropy_with_logits

from logitlib.losses import binary_cross_entropy, softmax_cross_entropy

LEVELS = [0.0, 1e-9, 0.3, 1.0, 5.0, 16.9, 20.0, 37.5, 40.7, 87.0, 88.5, 104.0, 400.0, 700.3, 1e4]


def each(logits, targets):
    return binary_cross_entropy(logits, targets, reduction="none")


def derivatives(logits, targets):
    """Value, first and second derivative of each element."""

    def slope(z):
        return torch.func.grad(lambda z: each(z, targets).sum())(z)

    return each(logits, targets), slope(logits), torch.func.grad(lambda z: slope(z).sum())(logits)


def truth(logit, target):
    """Value, first and second derivative in 50 digits, from terms that do not cancel."""
    with mpmath.workdps(50):
        z, t = mpmath.mpf(logit), mpmath.mpf(target)
        present, absent = 1 / (1 + mpmath.exp(-z)), 1 / (1 + mpmath.exp(z))
        # log(1 + x) without a loss of x, however small it is
        softplus = [mpmath.log1p(mpmath.exp(-abs(z))) + max(s * z, 0) for s in (1, -1)]
        value = (1 - t) * softplus[0] + t * softplus[1]
        return value, (1 - t) * present - t * absent, present * absent


@pytest.mark.parametrize("target", [0.0, 0.3, 1.0])
def test_at_logit_zero_it_is_log_2_with_slope_one_half_minus_the_target(target):
    value, first, second = derivatives(
        torch.zeros(1, dtype=torch.float64), torch.tensor([target], dtype=torch.float64)
    )
    assert value.item() == pytest.approx(0.6931471805599453, rel=1e-15)
    assert first.item() == pytest.approx(0.5 - target, rel=1e-15)
    assert second.item() == pytest.approx(0.25, rel=1e-15)


def test_minus_zero_is_zero():
    zeros = torch.tensor([0.0, -0.0], dtype=torch.float64)
    for result in derivatives(zeros, torch.full((2,), 0.3, dtype=torch.float64)):
        torch.testing.assert_close(result[0], result[1], rtol=1e-15, atol=0)


@given(
    z=st.lists(st.floats(-700, 700), min_size=1, max_size=5),
    t=st.integers(0, 64).map(lambda k: k / 64),
)
def test_exchanging_present_and_absent_changes_nothing(z, t):
    z = torch.tensor(z, dtype=torch.float64)
    t = torch.full_like(z, t)
    here, there = derivatives(z, t), derivatives(-z, 1 - t)
    for a, b, sign in zip(here, there, (1, -1, 1), strict=True):
        torch.testing.assert_close(a, sign * b, rtol=1e-14, atol=0)


@given(z=st.floats(-1e4, 1e4), t=st.floats(0, 1))
def test_it_is_linear_in_the_target(z, t):
    z, t = (torch.tensor(v, dtype=torch.float64) for v in (z, t))
    mixed = t * each(z, torch.ones_like(t)) + (1 - t) * each(z, torch.zeros_like(t))
    torch.testing.assert_close(each(z, t), mixed, rtol=1e-14, atol=0)


@given(z=st.floats(-700, 700))
def test_it_is_the_softmax_cross_entropy_of_two_classes(z):
    z = torch.tensor([z], dtype=torch.float64)
    pair = torch.stack([z, torch.zeros_like(z)], dim=-1)
    two_classes = softmax_cross_entropy(pair, torch.tensor([0]), reduction="none")
    torch.testing.assert_close(each(z, torch.ones_like(z)), two_classes, rtol=1e-14, atol=0)


@pytest.mark.parametrize("target", [0.0, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_tails_and_both_derivatives_have_every_digit(assert_accurate, dtype, target):
    logits = torch.tensor([sign * z for z in LEVELS for sign in (1, -1)], dtype=dtype)
    want = [truth(z, target) for z in logits.tolist()]
    for result, numbers in zip(
        derivatives(logits, torch.full_like(logits, target)), zip(*want, strict=True), strict=True
    ):
        assert_accurate(result, numbers)


@pytest.mark.parametrize("target", [1e-12, 0.25, 0.9, 1 - 2**-20])
def test_soft_targets_keep_the_digits_of_the_value(assert_accurate, target):
    logits = torch.tensor([sign * z for z in LEVELS for sign in (1, -1)], dtype=torch.float64)
    value, first, second = derivatives(logits, torch.full_like(logits, target))
    want = [truth(z, target) for z in logits.tolist()]
    assert_accurate(value, [numbers[0] for numbers in want])
    assert_accurate(second, [numbers[2] for numbers in want])
    # the slope crosses zero: a unit of rounding of its terms
    slopes = torch.tensor([float(numbers[1]) for numbers in want], dtype=torch.float64)
    scale = torch.where(logits > 0, 1 - target, target) + torch.sigmoid(-logits.abs())
    assert ((first - slopes).abs() <= 1e-15 * scale).all()


def test_it_agrees_with_torch_and_scipy_where_they_are_right():
    logits = torch.linspace(-15, 15, 61, dtype=torch.float64)
    targets = torch.linspace(0, 1, 61, dtype=torch.float64).flip(0)
    torch.testing.assert_close(
        each(logits, targets),
        binary_cross_entropy_with_logits(logits, targets, reduction="none"),
        rtol=1e-9,
        atol=0,
    )
    z, t = logits.numpy(), targets.numpy()
    from_probabilities = -xlogy(t, expit(z)) - xlogy(1 - t, expit(-z))
    torch.testing.assert_close(
        each(logits, targets), torch.from_numpy(from_probabilities), rtol=1e-9, atol=0
    )


def test_torch_loses_the_gradient_that_is_kept_here():
    gradients = []
    for loss in (binary_cross_entropy_with_logits, binary_cross_entropy):
        logit = torch.tensor(40.0, dtype=torch.float64, requires_grad=True)
        loss(logit, torch.ones_like(logit)).backward()
        gradients.append(logit.grad.item())
    assert gradients == [0, pytest.approx(-4.248354255291589e-18, rel=1e-14)]


@pytest.mark.parametrize("traced", [False, True])
def test_infinite_logits_are_limits_in_values_and_derivatives(traced):
    logits = torch.tensor([-torch.inf, torch.inf, -torch.inf, torch.inf, torch.inf, 1.0])
    targets = torch.tensor([0.0, 1.0, 1.0, 0.0, 0.5, 0.0])
    function = torch.func.vmap(derivatives) if traced else derivatives
    value, first, second = function(logits[None], targets[None])
    want = torch.tensor([0, 0, torch.inf, torch.inf, torch.inf, 1.3132616875182228])
    torch.testing.assert_close(value[0], want)
    torch.testing.assert_close(first[0], torch.tensor([0, 0, -1, 1, 0.5, 0.7310585786300049]))
    torch.testing.assert_close(second[0], torch.tensor([0, 0, 0, 0, 0, 0.19661193324148185]))
