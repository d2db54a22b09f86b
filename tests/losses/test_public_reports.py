"""Inputs from public bug reports, with the right answers.

The answers were computed with 60 digits or more. Unless a test says otherwise a relative error of
1e-14 is allowed in float64 and 2e-6 in float32, and one unit in the last place in half precision.
"""

import pytest
import torch

from logitlib.losses import (
    binary_cross_entropy,
    multilabel_softmax_cross_entropy,
    softmax_cross_entropy,
    softmax_squared_error,
)

inf = float("inf")
TOLERANCE = {
    torch.float16: 2**-10,
    torch.bfloat16: 2**-7,
    torch.float32: 2e-6,
    torch.float64: 1e-14,
}
FLOATS = pytest.mark.parametrize("dtype", list(TOLERANCE))
HALF = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])


def close(got, want):
    assert got.shape == torch.Size(torch.tensor(want).shape)
    want = torch.tensor(want, dtype=torch.float64)
    torch.testing.assert_close(
        got.detach().double(), want, rtol=TOLERANCE[got.dtype], atol=torch.finfo(got.dtype).tiny
    )


def bce(logits, targets, dtype=torch.float64):
    """Losses and gradients, element by element."""
    logits = torch.tensor(logits, dtype=dtype, requires_grad=True)
    each = binary_cross_entropy(logits, torch.tensor(targets), reduction="none")
    each.sum().backward()
    assert each.dtype == logits.grad.dtype == dtype
    return each, logits.grad


# Alibaba-MIIL/ASL #53, #87: not a number now and then in half precision


@HALF
@pytest.mark.parametrize("autocast", [False, True])
def test_saturated_half_precision_logits_keep_their_loss(dtype, autocast):
    values = [73.875, -10.7578125, 64.625, -20.703125, 81.4375, 42.96875]
    logits = torch.tensor(values, dtype=dtype)
    targets = torch.tensor([0, 0, 1, 0, 0, 0])
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        each = binary_cross_entropy(logits.requires_grad_(), targets, reduction="none")
    each.sum().backward()
    exact = logits.detach().double()
    want = torch.log1p(torch.exp(-exact.abs())) + exact.relu() * (1 - targets)
    torch.testing.assert_close(each.double(), want, rtol=TOLERANCE[dtype], atol=1e-7)
    assert logits.grad.dtype == dtype
    assert logits.grad.isfinite().all()


def test_a_mean_exists_where_the_sum_overflows():
    logits = torch.full((4096,), 64.0, dtype=torch.float16)
    assert binary_cross_entropy(logits, torch.zeros(4096)) == 64.0
    assert binary_cross_entropy(logits, torch.zeros(4096), reduction="sum") == inf


# Alibaba-MIIL/ASL #22, #60, #24: what "mean" is the mean of


def test_the_mean_is_over_all_six_elements():
    logits = torch.tensor([[2, -1, 0.5], [-3, 0, 1.5]], dtype=torch.float64)
    targets = torch.tensor([[1, 0, 1], [0, 1, 0]])
    close(
        binary_cross_entropy(logits, targets, reduction="none"),
        [
            [0.1269280110429725, 0.31326168751822283, 0.47407698418010668],
            [0.048587351573742059, 0.69314718055994531, 1.7014132779827524],
        ],
    )
    close(binary_cross_entropy(logits, targets, reduction="sum"), 3.3574144928577418)
    close(binary_cross_entropy(logits, targets), 0.55956908214295696)


# pytorch #49844, #102894, #20972: one masked logit makes a whole batch NaN


@FLOATS
def test_infinite_logits_have_the_loss_and_the_gradient_of_their_limits(dtype):
    each, gradient = bce([-inf, inf, -inf, inf, 1.0], [0, 1, 1, 0, 0], dtype)
    close(each, [0, 0, inf, inf, 1.3132616875182228])
    close(gradient, [0, 0, -1, 1, 0.73105857863000488])


@FLOATS
def test_a_nan_logit_is_never_turned_into_a_number(dtype):
    each, _ = bce([float("nan"), 1.0, float("nan")], [0, 0, 1], dtype)
    assert each.isnan().tolist() == [True, False, True]


# pytorch #13773, #27936, #65702: a positive weight of 1 made a loss of 120 NaN


def test_a_weight_is_applied_to_the_unreduced_losses():
    each, gradient = bce([0.0, -120.0], [0, 1])
    close(each, [0.69314718055994531, 120.0])
    close(gradient, [0.5, -1.0])
    logits = torch.tensor([0.0, -120.0], dtype=torch.float64, requires_grad=True)
    weighted = torch.tensor([1.0, 3.0]) * binary_cross_entropy(
        logits, torch.tensor([0, 1]), reduction="none"
    )
    weighted.sum().backward()
    close(weighted, [0.69314718055994531, 360.0])
    close(logits.grad, [0.5, -3.0])
    assert 'take ``reduction="none"``, multiply' in " ".join(binary_cross_entropy.__doc__.split())


# huggingface/candle #2561, kornia #2115: the loss of a rounded or clamped probability

TAILS = [
    # logit, loss for target 1 and its slope, loss for target 0 and its slope
    (-10000.0, 10000.0, -1.0, 0, 0),
    (-745.5, 745.5, -1.0, 0, 0),
    (-104.0, 104.0, -1.0, 6.8135568215452985e-46, 6.8135568215452985e-46),
    (-88.0, 88.0, -1.0, 6.0546018954011859e-39, 6.0546018954011859e-39),
    (-40.0, 40.0, -1.0, 4.248354255291589e-18, 4.248354255291589e-18),
    (-20.0, 20.000000002061154, -0.99999999793884638, 2.0611536203143807e-9, 2.0611536181902036e-9),
    (-8.0, 8.0003354063728958, -0.99966464986953352, 3.3540637289576883e-4, 3.353501304664781e-4),
    (-1.0, 1.3132616875182228, -0.73105857863000488, 0.31326168751822283, 0.26894142136999512),
    (0.0, 0.69314718055994531, -0.5, 0.69314718055994531, 0.5),
    (1.0, 0.31326168751822283, -0.26894142136999512, 1.3132616875182228, 0.73105857863000488),
    (8.0, 3.3540637289576883e-4, -3.353501304664781e-4, 8.0003354063728958, 0.99966464986953352),
    (17.0, 4.1399376330897474e-8, -4.1399375473943306e-8, 17.000000041399376, 0.99999995860062453),
    (18.0, 1.5229979628736488e-8, -1.5229979512760349e-8, 18.00000001522998, 0.99999998477002049),
    (20.0, 2.0611536203143807e-9, -2.0611536181902036e-9, 20.000000002061154, 0.99999999793884638),
    (40.0, 4.248354255291589e-18, -4.248354255291589e-18, 40.0, 1.0),
    (88.0, 6.0546018954011859e-39, -6.0546018954011859e-39, 88.0, 1.0),
    (104.0, 6.8135568215452985e-46, -6.8135568215452985e-46, 104.0, 1.0),
    (400.0, 1.9151695967140057e-174, -1.9151695967140057e-174, 400.0, 1.0),
    (10000.0, 0, 0, 10000.0, 1.0),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("target", [1, 0])
def test_both_tails_keep_their_loss_and_slope(dtype, target):
    logits, *columns = zip(*TAILS, strict=True)
    each, gradient = bce(logits, [target] * len(logits), dtype)
    want = columns[:2] if target else columns[2:]
    close(each, want[0])
    close(gradient, want[1])


# pytorch #195530, #195679: the curvature is right on the negative tail, 0 on the positive one

CURVATURE = [
    # logit, second derivative, slope and loss for target 1
    (0, 0.25, -0.5, 0.69314718055994531),
    (5, 0.0066480566707901549, -0.0066928509242848556, 0.0067153484891180686),
    (30, 9.3576229688384233e-14, -9.357622968839299e-14, 9.3576229688397368e-14),
    (37.42994775023705, 5.5511151231257755e-17, -5.5511151231257758e-17, 5.5511151231257759e-17),
    (40, 4.248354255291589e-18, -4.248354255291589e-18, 4.248354255291589e-18),
    (100, 3.720075976020836e-44, -3.720075976020836e-44, 3.720075976020836e-44),
    (700, 9.8596765437597709e-305, -9.8596765437597709e-305, 9.8596765437597709e-305),
]


@pytest.mark.parametrize("target", [1, 0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_curvature_is_the_same_on_both_tails_and_for_both_targets(target, sign):
    numbers, curvatures, slopes, values = zip(*CURVATURE, strict=True)
    logits = sign * torch.tensor(numbers, dtype=torch.float64)
    logits.requires_grad_()
    each = binary_cross_entropy(logits, torch.full_like(logits, target), reduction="none")
    (slope,) = torch.autograd.grad(each.sum(), logits, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), logits)
    close(curvature, curvatures)
    if sign == 1 and target == 1:
        close(slope, slopes)
        close(each, values)


# deep-spin/entmax #9: one masked class


def test_softmax_cross_entropy_beside_a_masked_class():
    logits = torch.tensor([[1.0, 1.5, -inf]], dtype=torch.float64)
    losses = [softmax_cross_entropy(logits, torch.tensor([y])) for y in range(3)]
    close(torch.stack(losses), [0.97407698418010668, 0.47407698418010668, inf])


# google-deepmind/optax #896, tensorflow #15079 and #43309, Alibaba-MIIL/ASL #93: several labels


def multilabel(logits, targets, **options):
    logits = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    loss = multilabel_softmax_cross_entropy(logits, torch.tensor(targets), **options)
    loss.sum().backward()
    return loss, logits.grad


def test_several_labels_are_divided_by_their_number():
    loss, gradient = multilabel([[1.0, 2.0, 3.0]], [[1, 1, 0]])
    close(loss, 1.9076059644443803)
    close(gradient, [[-0.40996942682961954, -0.25527152894520235, 0.66524095577482189]])
    loss, gradient = multilabel([[1.0, 2.0, 3.0]], [[1, 1, 0]], normalize=False)
    close(loss, 3.8152119288887606)
    close(gradient / 2, [[-0.40996942682961954, -0.25527152894520235, 0.66524095577482189]])


def test_a_masked_class_without_a_label_costs_nothing():
    loss, gradient = multilabel([[-inf, 0.0]], [[0, 1]])
    assert loss == 0
    assert torch.equal(gradient, torch.zeros(1, 2, dtype=torch.float64))


def test_labels_far_apart_cost_half_their_distance():
    loss, _ = multilabel([[10000.0, 0.0, -10000.0]], [[1, 1, 0]])
    assert loss == 5000.0


@pytest.mark.parametrize("normalize", [True, False])
def test_a_row_without_a_label_has_loss_and_gradient_zero(normalize):
    each, gradient = multilabel(
        [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]],
        [[1, 1, 0], [0, 0, 0]],
        normalize=normalize,
        reduction="none",
    )
    k = 1 if normalize else 2
    close(each, [k * 1.9076059644443803, 0.0])
    close(gradient[0] / k, [-0.40996942682961954, -0.25527152894520235, 0.66524095577482189])
    assert torch.equal(gradient[1], torch.zeros(3, dtype=torch.float64))


def test_class_indices_and_rows_with_several_ones_are_told_apart():
    with pytest.raises(ValueError, match="multilabel_softmax_cross_entropy"):
        softmax_cross_entropy(torch.zeros(1, 3), torch.tensor([[1.0, 1.0, 0.0]]))


# pytorch #50224, #70348, #116349, #15870: empty batches


@pytest.mark.parametrize("shape", [(0, 3), (5, 0)])
def test_a_sigmoid_loss_of_nothing(shape):
    logits = torch.zeros(shape, requires_grad=True)
    assert binary_cross_entropy(logits, torch.zeros(shape), reduction="none").shape == shape
    assert binary_cross_entropy(logits, torch.zeros(shape)).isnan()
    total = binary_cross_entropy(logits, torch.zeros(shape), reduction="sum")
    total.backward()
    assert total == 0.0
    assert logits.grad.shape == shape


@pytest.mark.parametrize(
    "loss", [softmax_cross_entropy, softmax_squared_error, multilabel_softmax_cross_entropy]
)
def test_a_softmax_loss_of_nothing(loss):
    logits = torch.zeros(0, 3, requires_grad=True)
    assert loss(logits, torch.zeros(0, 3), reduction="none").shape == (0,)
    assert loss(logits, torch.zeros(0, 3)).isnan()
    total = loss(logits, torch.zeros(0, 3), reduction="sum")
    total.backward()
    assert total == 0.0
    assert logits.grad.shape == (0, 3)
    with pytest.raises(ValueError, match=r"at least one class .*\(5, 0\)"):
        loss(torch.zeros(5, 0), torch.zeros(5, 0))


# pytorch #2220, #3608, #2272, #80208, keras-cv #2097: label types and ranges

LABELS = [torch.int64, torch.uint8, torch.bool, torch.float16, torch.float32, torch.float64]


@pytest.mark.parametrize("label_dtype", LABELS)
@FLOATS
def test_labels_of_every_type_give_the_same_numbers(dtype, label_dtype):
    logits = torch.tensor([[0.5, -2.0], [3.0, 0.0]], dtype=dtype)
    labels = torch.tensor([[1, 0], [1, 1]])
    for loss in (binary_cross_entropy, multilabel_softmax_cross_entropy):
        got = loss(logits, labels.to(label_dtype))
        assert got.dtype == dtype
        assert torch.equal(got, loss(logits, labels.to(dtype)))


def test_integer_logits_are_refused_with_the_accepted_dtypes():
    with pytest.raises(TypeError, match=r"logits .*float16.*float64, got torch\.int64"):
        binary_cross_entropy(torch.tensor([1, 2]), torch.tensor([0, 1]))


@pytest.mark.parametrize("target", [7.0, -1.0, float("nan")])
def test_targets_that_are_no_probabilities_are_refused(target):
    with pytest.raises(ValueError, match=r"^targets must lie in \[0, 1\]"):
        binary_cross_entropy(torch.tensor([0.5]), torch.tensor([target]))


@pytest.mark.parametrize("shape", [(3,), (4, 1)])
def test_targets_are_not_broadcast(shape):
    with pytest.raises(ValueError, match=r"shape of logits \(4, 3\), got \("):
        binary_cross_entropy(torch.zeros(4, 3), torch.zeros(shape))
