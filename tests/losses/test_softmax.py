"""The softmax losses: their formulas, what they ignore, and their digits at extreme logits."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from torch.nn.functional import cross_entropy

from logitlib.losses import (
    multilabel_softmax_cross_entropy,
    softmax_cross_entropy,
    softmax_squared_error,
)

# torch's own, when forward-mode differentiation is first used
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")

FUNCTIONS = [softmax_cross_entropy, softmax_squared_error]
#: Numbers on a grid: differences and sums with integers have no rounding error.
GRID = st.integers(-50 * 2**10, 50 * 2**10).map(lambda k: k / 2**10)
ROWS = st.lists(GRID, min_size=2, max_size=6)


def row(values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype)


# closed forms


def test_equal_logits_cost_log_n_and_one_minus_1_over_n():
    logits = torch.full((5,), 7.0, dtype=torch.float64)
    target = torch.tensor(2)
    assert softmax_cross_entropy(logits, target).item() == pytest.approx(math.log(5), rel=1e-15)
    assert softmax_squared_error(logits, target).item() == pytest.approx(0.8, rel=1e-15)


def test_two_classes_with_odds_three_to_one():
    logits = row([math.log(3), 0.0])
    for target, cross, squared in [(0, math.log(4 / 3), 1 / 8), (1, math.log(4), 9 / 8)]:
        index = torch.tensor(target)
        assert softmax_cross_entropy(logits, index).item() == pytest.approx(cross, rel=1e-14)
        assert softmax_squared_error(logits, index).item() == pytest.approx(squared, rel=1e-14)


def test_gradients_follow_the_formulas():
    logits = row([[0.5, -1.0, 2.0], [3.0, 0.0, 0.1]])
    targets = row([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
    p = logits.softmax(-1)
    d = p - targets
    grad = torch.func.grad
    torch.testing.assert_close(grad(softmax_cross_entropy)(logits, targets), d / 2)
    inner = (p * d).sum(-1, keepdim=True)
    torch.testing.assert_close(grad(softmax_squared_error)(logits, targets), p * (d - inner))
    sets = row([[1, 1, 0], [0, 1, 0]])
    torch.testing.assert_close(
        grad(multilabel_softmax_cross_entropy)(logits, sets),
        (p - sets / sets.sum(-1, keepdim=True)) / 2,
    )


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_infimum_over_k_labels_is_log_k(k):
    targets = torch.tensor([1] * k + [0] * 3)
    logits = 1e3 * targets.double()
    loss = multilabel_softmax_cross_entropy(logits, targets)
    assert loss.item() == pytest.approx(math.log(k), rel=1e-15)
    undivided = multilabel_softmax_cross_entropy(logits, targets, normalize=False)
    assert undivided.item() == pytest.approx(k * math.log(k), rel=1e-15)


# limit cases


def test_a_single_class_costs_nothing():
    logits = row([[3.0], [-1e4]]).requires_grad_()
    for loss in FUNCTIONS:
        value = loss(logits, torch.zeros(2, dtype=torch.int64))
        assert value == 0
        assert torch.equal(torch.autograd.grad(value, logits)[0], torch.zeros_like(logits))


def test_a_row_without_a_label_costs_nothing_and_leaves_the_others_alone():
    logits = row([[1.0, 2.0, 3.0], [4.0, 5.0, -torch.inf]]).requires_grad_()
    targets = torch.tensor([[1, 1, 0], [0, 0, 0]])
    for normalize in (True, False):
        each = multilabel_softmax_cross_entropy(
            logits, targets, normalize=normalize, reduction="none"
        )
        alone = multilabel_softmax_cross_entropy(logits[0], targets[0], normalize=normalize)
        assert torch.equal(each, torch.stack([alone, torch.zeros_like(alone)]))
        (gradient,) = torch.autograd.grad(each.sum(), logits)
        assert gradient[0].abs().sum() > 0
        assert torch.equal(gradient[1], torch.zeros(3, dtype=torch.float64))


@given(z=ROWS)
def test_one_hot_rows_one_label_and_class_indices_are_the_same(z):
    z, n = row(z), len(z)
    for y in range(n):
        index = torch.tensor(y)
        one_hot = torch.eye(n, dtype=torch.float64)[y]
        for loss, twin in [
            *((loss, loss) for loss in FUNCTIONS),
            (softmax_cross_entropy, multilabel_softmax_cross_entropy),
        ]:
            here = torch.func.grad_and_value(loss)(z, index)
            there = torch.func.grad_and_value(twin)(z, one_hot)
            torch.testing.assert_close(there, here, rtol=1e-14, atol=0)


@given(z=ROWS)
def test_all_labels_are_the_uniform_target(z):
    z = row(z)
    uniform = torch.full_like(z, 1 / len(z))
    torch.testing.assert_close(
        multilabel_softmax_cross_entropy(z, torch.ones(len(z))),
        softmax_cross_entropy(z, uniform),
        rtol=1e-14,
        atol=0,
    )


# invariances


@given(z=ROWS, shift=st.integers(-9000, 9000))
def test_adding_a_constant_to_all_logits_changes_nothing(z, shift):
    z, target = row(z), torch.tensor(len(z) - 1)
    for loss in FUNCTIONS:
        here, there = (torch.func.grad_and_value(loss)(logits, target) for logits in (z, z + shift))
        torch.testing.assert_close(here, there, rtol=1e-14, atol=0)


@given(z=ROWS, data=st.data())
def test_the_order_of_the_classes_does_not_matter(z, data):
    order = torch.tensor(data.draw(st.permutations(range(len(z)))))
    targets = torch.arange(len(z), dtype=torch.float64) % 2
    here = multilabel_softmax_cross_entropy(row(z), targets)
    there = multilabel_softmax_cross_entropy(row(z)[order], targets[order])
    torch.testing.assert_close(here, there, rtol=1e-14, atol=0)


@given(z=ROWS, labels=st.integers(0, 63))
def test_the_undivided_loss_is_k_times_the_divided_one(z, labels):
    targets = torch.tensor([(labels >> i) & 1 for i in range(len(z))])
    undivided = multilabel_softmax_cross_entropy(row(z), targets, normalize=False)
    divided = multilabel_softmax_cross_entropy(row(z), targets)
    torch.testing.assert_close(undivided, targets.sum() * divided, rtol=1e-14, atol=0)


@given(z=ROWS, weight=st.floats(0, 1))
def test_cross_entropy_is_linear_in_the_row_of_targets(z, weight):
    z = row(z)
    first, last = torch.tensor(0), torch.tensor(len(z) - 1)
    mixed = torch.zeros_like(z)
    mixed[0], mixed[-1] = 1 - weight, weight
    want = (1 - weight) * softmax_cross_entropy(z, first) + weight * softmax_cross_entropy(z, last)
    torch.testing.assert_close(softmax_cross_entropy(z, mixed), want, rtol=1e-14, atol=0)


@given(z=ROWS)
def test_the_gradient_of_a_row_sums_to_zero(z):
    for loss, scale in [(softmax_cross_entropy, 0.0), (softmax_squared_error, 1.0)]:
        gradient = torch.func.grad(loss)(row(z), torch.tensor(0))
        # a rounding error for each class; the squared error has larger terms than results
        assert gradient.sum().abs() <= 1e-15 * len(z) * max(gradient.abs().max(), scale)


@given(z=st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=6))
def test_squared_error_is_between_0_and_2(z):
    loss = softmax_squared_error(row(z), torch.tensor(0))
    assert 0 <= loss <= 2


# oracle: mpmath from the same binary numbers, with enough digits for every cancellation


def probabilities(z):
    exponentials = [mpmath.exp(a - max(z)) for a in z]
    total = mpmath.fsum(exponentials)
    return [e / total for e in exponentials]


def cross_entropy_truth(z, t):
    """Value, gradient and Hessian of the cross-entropy with targets t of any sum."""
    p, n, total = probabilities(z), range(len(z)), mpmath.fsum(t)
    # log1p of the other exponentials, which lose nothing beside the 1
    top = max(n, key=lambda i: z[i])
    logarithm = mpmath.log1p(mpmath.fsum(mpmath.exp(z[i] - z[top]) for i in n if i != top))
    value = mpmath.fsum(t[i] * (z[top] - z[i]) for i in n) + total * logarithm
    gradient = [total * p[i] - t[i] for i in n]
    hessian = [total * p[i] * ((i == j) - p[j]) for i in n for j in n]
    return value, gradient, hessian


def squared_error_truth(z, t):
    """Value, gradient and Hessian of the squared error."""
    p, n = probabilities(z), range(len(z))
    d = [a - b for a, b in zip(p, t, strict=True)]
    inner, square = mpmath.fdot(p, d), mpmath.fdot(p, p)
    gradient = [2 * p[i] * (d[i] - inner) for i in n]
    slope = [p[j] * (d[j] - inner + p[j] - square) for j in n]  # of the inner product
    hessian = [
        2 * p[i] * (((i == j) - p[j]) * (d[i] - inner + p[i]) - slope[j]) for i in n for j in n
    ]
    return mpmath.fdot(d, d), gradient, hessian


def derivatives(loss, logits):
    """Value, gradient and Hessian, twice: plain autograd, and traced by `torch.func.hessian`."""
    traced = torch.func.hessian(loss)(logits)
    logits = logits.clone().requires_grad_()
    value = loss(logits)
    (gradient,) = torch.autograd.grad(value, logits, create_graph=True)
    hessian = torch.stack(
        [torch.autograd.grad(entry, logits, retain_graph=True)[0] for entry in gradient]
    )
    return value.detach(), gradient.detach(), hessian, traced


def random_rows(dtype):
    """Rows with generic digits, narrow and wide, near zero and far away."""
    generator = np.random.default_rng(0)
    end = 700 if dtype == torch.float64 else 87
    for n, width in itertools.product((2, 3, 5), (1, 10, end / 4, end / 2, end, 1e4)):
        for centre in (0.0, generator.uniform(-9e3, 9e3)):
            yield row(centre + generator.uniform(-width / 2, width / 2, n), dtype)


def chosen_rows(dtype):
    """A dominant class, ties, the ends of the range of exp, and where the shorter path ends."""
    yield from (
        row(z, dtype)
        for z in (
            [70.0, 0.0, -1.0],
            [40.0, 0.0, -3.0],
            [0.0, 40.0, 40.0],
            [-0.3, 86.7],
            [1e4, 0.0, -1e4],
            [1e4, 1e4 - 3.7, -1e4],
            [0.1, -30.99],
            [0.1, -31.01],
            [-3.3, -90.7, -61.9],
            [14.7, -59.7],
            [29.8, -546.8],
            [0.0, 0.0, 0.0, 0.0],
            [0.7, 0.7 - 700.1, 0.2],
        )
    )


def digits(dtype):
    return 800 if dtype == torch.float64 else 120


DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
CASES = pytest.mark.parametrize("rows", [random_rows, chosen_rows])


@CASES
@DTYPES
def test_cross_entropy_of_a_class_has_every_digit(assert_accurate, dtype, rows):
    for logits in rows(dtype):
        for y in range(len(logits)):
            index = torch.tensor(y)
            value, gradient, *hessians = derivatives(
                lambda z, y=index: softmax_cross_entropy(z, y), logits
            )
            with mpmath.workdps(digits(dtype)):
                z = [mpmath.mpf(a) for a in logits.tolist()]
                want = cross_entropy_truth(z, [mpmath.mpf(i == y) for i in range(len(z))])
                assert_accurate(value, want[0])
                assert_accurate(gradient, want[1])
                for hessian in hessians:
                    assert_accurate(hessian, want[2])


@CASES
@DTYPES
def test_cross_entropy_of_a_row_is_as_good_as_its_cancellations_allow(assert_accurate, dtype, rows):
    generator = torch.Generator().manual_seed(0)
    for logits in rows(dtype):
        sets = (torch.rand(len(logits), generator=generator) < 0.6).to(dtype)
        value, gradient, *hessians = derivatives(
            lambda z, t=sets: multilabel_softmax_cross_entropy(z, t, normalize=False), logits
        )
        with mpmath.workdps(digits(dtype)):
            z, t = ([mpmath.mpf(a) for a in values.tolist()] for values in (logits, sets))
            want = cross_entropy_truth(z, t)
            assert_accurate(value, want[0])
            for hessian in hessians:
                assert_accurate(hessian, want[2])
            # the entries k p - 1 cross zero: a few units of rounding of the terms
            error = gradient.double() - row([float(g) for g in want[1]])
        assert (error.abs() <= 4 * torch.finfo(dtype).eps * (sets.sum() + 1)).all()
        absent = sets == 0
        assert_accurate(gradient[absent], itertools.compress(want[1], absent.tolist()))


@DTYPES
def test_squared_error_of_a_sure_class_has_every_digit(assert_accurate, dtype):
    sure = [[70.0, 0.0, -1.0], [31.3, 0.2, -1.9], [40.0, 0.1, -3.0], [5.7, 0.4, 0.1, 0.2]]
    for logits in (row(z, dtype) for z in sure):
        for y in (0, 1):
            index = torch.tensor(y)
            value, gradient, *hessians = derivatives(
                lambda z, y=index: softmax_squared_error(z, y), logits
            )
            with mpmath.workdps(200):
                z = [mpmath.mpf(a) for a in logits.tolist()]
                want = squared_error_truth(z, [mpmath.mpf(i == y) for i in range(len(z))])
                assert_accurate(value, want[0])
                assert_accurate(gradient, want[1])
                for hessian in hessians:
                    assert_accurate(hessian, want[2])


@CASES
@DTYPES
def test_squared_error_is_right_everywhere(assert_accurate, dtype, rows):
    for logits in rows(dtype):
        for y in range(len(logits)):
            index = torch.tensor(y)
            value, gradient, *hessians = derivatives(
                lambda z, y=index: softmax_squared_error(z, y), logits
            )
            with mpmath.workdps(2 * digits(dtype)):
                z = [mpmath.mpf(a) for a in logits.tolist()]
                want = squared_error_truth(z, [mpmath.mpf(i == y) for i in range(len(z))])
            assert_accurate(value, want[0])
            # entries that cross zero, at sizes up to 2: a few units of rounding
            for result, numbers in ((gradient, want[1]), *((h, want[2]) for h in hessians)):
                exact = row([float(number) for number in numbers]).view_as(result)
                assert ((result.double() - exact).abs() <= 8 * torch.finfo(dtype).eps).all()


def test_many_equal_classes_share_the_gradient_evenly():
    logits = torch.zeros(5000)
    share = torch.full((4999,), 1 / 5000)
    for loss, target in [
        (softmax_cross_entropy, torch.tensor(4999)),
        (multilabel_softmax_cross_entropy, torch.eye(5000)[4999]),
    ]:
        gradient = torch.func.grad(loss)(logits, target)
        torch.testing.assert_close(gradient[:-1], share, rtol=2e-6, atol=0)


# peers


def test_they_agree_with_torch_and_scipy_where_those_are_right():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(20, 7, generator=generator, dtype=torch.float64) * 3
    rows = torch.randn(20, 7, generator=generator, dtype=torch.float64).softmax(-1)
    index = torch.randint(7, (20,), generator=generator)
    sets = (torch.rand(20, 7, generator=generator) < 0.5).double()
    assert (sets.sum(-1) > 1).any()

    torch.testing.assert_close(softmax_cross_entropy(logits, index), cross_entropy(logits, index))
    torch.testing.assert_close(softmax_cross_entropy(logits, rows), cross_entropy(logits, rows))
    logs = torch.from_numpy(log_softmax(logits.numpy(), axis=-1))
    torch.testing.assert_close(
        softmax_cross_entropy(logits, rows, reduction="none"), -(rows * logs).sum(-1)
    )
    torch.testing.assert_close(
        multilabel_softmax_cross_entropy(logits, sets, normalize=False),
        cross_entropy(logits, sets),
    )
    p = torch.from_numpy(softmax(logits.numpy(), axis=-1))
    torch.testing.assert_close(
        softmax_squared_error(logits, rows, reduction="sum"), ((p - rows) ** 2).sum()
    )


def test_torch_loses_the_loss_that_is_kept_here():
    logits, target = row([70.0, 0.0, -1.0]), torch.tensor(0)
    want = float(mpmath.exp(-70) + mpmath.exp(-71))
    assert cross_entropy(logits, target) == 0
    assert softmax_cross_entropy(logits, target).item() == pytest.approx(want, rel=1e-14)


# infinite logits

EAGER_AND_TRACED = pytest.mark.parametrize("traced", [False, True])


def gradient_and_value(loss, logits, targets, traced):
    function = torch.func.grad_and_value(loss)
    if traced:
        gradient, value = torch.func.vmap(function)(logits[None], targets[None])
        return gradient[0], value[0]
    return function(logits, targets)


@EAGER_AND_TRACED
def test_a_masked_class_is_as_if_it_were_not_there(traced):
    logits, fewer = row([1.0, -torch.inf, 3.0, -torch.inf]), row([1.0, 3.0])
    for loss, targets, kept in [
        (softmax_cross_entropy, torch.tensor(2), torch.tensor(1)),
        (softmax_cross_entropy, row([0.3, 0.0, 0.7, 0.0]), row([0.3, 0.7])),
        (softmax_squared_error, torch.tensor(0), torch.tensor(0)),
        (multilabel_softmax_cross_entropy, row([1, 0, 1, 0]), row([1, 1])),
    ]:
        gradient, value = gradient_and_value(loss, logits, targets, traced)
        want, small = gradient_and_value(loss, fewer, kept, traced)
        torch.testing.assert_close(value, small, rtol=1e-15, atol=0)
        torch.testing.assert_close(gradient[[0, 2]], want, rtol=1e-14, atol=0)
        assert torch.equal(gradient[[1, 3]], torch.zeros(2, dtype=torch.float64))


@EAGER_AND_TRACED
def test_a_masked_target_costs_infinity_with_a_finite_gradient(traced):
    logits = row([0.0, -torch.inf, 0.0])
    for loss, targets in [
        (softmax_cross_entropy, torch.tensor(1)),
        (softmax_cross_entropy, row([0.0, 1.0, 0.0])),
        (multilabel_softmax_cross_entropy, row([0, 1, 0])),
    ]:
        gradient, value = gradient_and_value(loss, logits, targets, traced)
        assert value == torch.inf
        torch.testing.assert_close(gradient, row([0.5, -1.0, 0.5]))
    _, value = gradient_and_value(softmax_squared_error, logits, torch.tensor(1), traced)
    assert value == 1.5


@EAGER_AND_TRACED
@pytest.mark.parametrize(
    "logits",
    [[torch.inf, 0.0], [0.0, torch.inf], [torch.inf, torch.inf], [-torch.inf, -torch.inf]],
)
def test_a_row_without_a_softmax_is_nan_for_every_target(logits, traced):
    for loss, targets in [
        *((loss, torch.tensor(y)) for loss in FUNCTIONS for y in (0, 1)),
        (softmax_cross_entropy, row([0.5, 0.5])),
        *((multilabel_softmax_cross_entropy, row(t)) for t in ([0, 0], [0, 1], [1, 0])),
    ]:
        gradient, value = gradient_and_value(loss, row(logits), targets, traced)
        assert value.isnan()
        assert gradient.isnan().any()
