"""The shared checks: what they accept, what their messages say, when they look at values."""

import pytest
import torch

from logitlib.losses._check import (
    check_distribution,
    check_multi_hot,
    check_probabilities,
    known,
    reduce,
)

NUMBERS = [torch.int8, torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16]
LOGITS = torch.zeros(2, 3)


@pytest.mark.parametrize("dtype", [*NUMBERS, torch.float32, torch.float64, torch.bool])
@pytest.mark.parametrize("check", [check_probabilities, check_multi_hot])
def test_zeros_and_ones_of_any_dtype_become_targets_of_the_dtype_of_the_logits(check, dtype):
    targets = torch.tensor([[0, 1, 1], [1, 0, 0]])
    for logits in (LOGITS, LOGITS.double()):
        _, cast = check(logits, targets.to(dtype))
        assert cast.dtype == logits.dtype
        assert torch.equal(cast, targets.to(logits.dtype))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.uint16, torch.int32, torch.int64])
def test_integers_are_class_indices(dtype):
    _, indices = check_distribution(LOGITS, torch.tensor([2, 0], dtype=dtype))
    assert indices.dtype == torch.int64
    assert indices.tolist() == [2, 0]


@pytest.mark.parametrize("check", [check_probabilities, check_multi_hot])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(check, dtype):
    logits, targets = check(LOGITS.to(dtype), torch.zeros(2, 3, dtype=dtype))
    assert logits.dtype == targets.dtype == torch.float32


@pytest.mark.parametrize(
    ("value", "shown"), [(7.0, "7"), (-0.25, "-0.25"), (torch.nan, "nan"), (1.5, "1.5")]
)
def test_the_message_shows_the_value_that_is_out_of_range(value, shown):
    targets = torch.tensor([[0.5, value, 1.0]])
    with pytest.raises(ValueError, match=rf"^targets must lie in \[0, 1\], got {shown}$"):
        check_probabilities(torch.zeros(1, 3), targets)


def test_the_ends_of_the_range_are_in_it():
    logits = torch.zeros(2, dtype=torch.float64)
    check_probabilities(logits, torch.tensor([0.0, 1.0]))
    with pytest.raises(ValueError, match="got 1"):
        check_probabilities(logits, torch.tensor([0.0, 1 + 1e-12], dtype=torch.float64))


def test_indices_end_at_the_last_class():
    check_distribution(LOGITS, torch.tensor([0, 2]))
    for index in (3, -1):
        with pytest.raises(ValueError, match=rf"^targets must lie in \[0, 2\], got {index}$"):
            check_distribution(LOGITS, torch.tensor([0, index]))


@pytest.mark.parametrize(
    "values", [[0.0, 0.5, 1.0], [0.0, 1 - 2**-24, 0.0], [1e-30, 0.0, 0.0], [0.3, 0.3, 0.4]]
)
def test_a_label_set_has_zeros_and_ones_only(values):
    with pytest.raises(ValueError, match=r"targets must be 0 or 1, got .* softmax_cross_entropy$"):
        check_multi_hot(torch.zeros(1, 3), torch.tensor([values]))


def test_rows_that_do_not_sum_to_one_are_an_error_that_names_row_and_remedy():
    targets = torch.tensor([[0.5, 0.5, 0.0], [1.0, 1.0, 0.0]])
    message = (
        r"^targets must be rows that are >= 0 and sum to 1 \(within 0\.0001\), but row 1 has the "
        r"smallest entry 0 and the sum 2; .* multilabel_softmax_cross_entropy$"
    )
    with pytest.raises(ValueError, match=message):
        check_distribution(LOGITS, targets)


@pytest.mark.parametrize("values", [[1.5, -0.5, 0.0], [torch.nan, 0.5, 0.5], [torch.inf, 0.0, 0.0]])
def test_negative_and_nan_rows_are_no_distributions(values):
    with pytest.raises(ValueError, match="but row 0 has"):
        check_distribution(torch.zeros(1, 3), torch.tensor([values]))


@pytest.mark.parametrize(
    ("dtype", "near", "far"),
    [
        (torch.float64, 5e-5, 2e-4),
        (torch.float32, 5e-5, 2e-4),
        (torch.float16, 5e-3, 2e-2),
        (torch.bfloat16, 8e-3, 3e-2),
    ],
)
def test_the_sum_of_a_row_may_be_off_by_the_rounding_of_its_dtype(dtype, near, far):
    for error in (near, -near):
        check_distribution(torch.zeros(1, 2), torch.tensor([[0.5 + error, 0.5]], dtype=dtype))
    for error in (far, -far):
        with pytest.raises(ValueError, match="sum to 1"):
            check_distribution(torch.zeros(1, 2), torch.tensor([[0.5 + error, 0.5]], dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_what_softmax_makes_in_a_dtype_is_a_distribution_in_it(dtype):
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(50, 100, generator=generator, dtype=torch.float64).softmax(-1).to(dtype)
    check_distribution(torch.zeros(50, 100), rows)


def test_wrong_kinds_and_shapes_say_where_such_targets_belong():
    with pytest.raises(TypeError, match=r"bool; multi-hot .* multilabel_softmax_cross_entropy"):
        check_distribution(LOGITS, torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"of shape \(2,\) .* multilabel_softmax_cross_entropy"):
        check_distribution(LOGITS, torch.ones(2, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"got \(2,\); class indices must have an integer dtype"):
        check_distribution(LOGITS, torch.ones(2))


def test_the_mean_is_rounded_once_at_the_end():
    losses = torch.full((4096,), 64.0)
    assert reduce(losses, "mean", torch.float16) == 64.0
    assert reduce(losses, "sum", torch.float16) == torch.inf
    assert reduce(losses, "sum", torch.float32) == 262144.0
    assert reduce(losses, "none", torch.bfloat16).dtype == torch.bfloat16


def test_a_condition_is_known_only_where_there_are_values():
    assert known(torch.tensor(True))
    assert not known(torch.tensor(False))
    assert not known(torch.tensor(True, device="meta"))

    seen = []
    torch.func.vmap(lambda x: (seen.append(known(x > 0)), x)[1])(torch.ones(2))
    torch.compile(lambda x: (seen.append(known((x > 0).all())), x)[1], backend="eager")(
        torch.ones(2)
    )
    assert seen == [False, False]


def test_a_gradient_does_not_hide_the_values():
    seen = []
    torch.func.grad(lambda x: (seen.append(known(x > 0)), x)[1])(torch.tensor(1.0))
    assert seen == [True]


@pytest.mark.parametrize("check", [check_probabilities, check_multi_hot, check_distribution])
def test_targets_on_another_device_are_an_error_that_names_both(check):
    with pytest.raises(ValueError, match="on the device of logits, cpu, got meta"):
        check(torch.zeros(2, 3), torch.zeros(2, 3, device="meta"))
