"""What every loss of the package keeps, whatever its formula: one line a loss in ``LOSSES``."""

import copy
import inspect
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from logitlib import losses

# torch's own, when forward-mode differentiation is first used
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")

HALF = [torch.float16, torch.bfloat16]
FLOATS = [*HALF, torch.float32, torch.float64]


def probabilities(logits: Tensor) -> Tensor:
    """Soft and hard targets, an element each."""
    soft = torch.rand(logits.shape, generator=seeded(), dtype=torch.float64)
    return torch.where(soft < 0.3, 0.0, torch.where(soft > 0.7, 1.0, soft))


def classes(logits: Tensor) -> Tensor:
    return torch.randint(logits.shape[-1], logits.shape[:-1], generator=seeded())


def distributions(logits: Tensor) -> Tensor:
    return torch.rand(logits.shape, generator=seeded(), dtype=torch.float64).mul(3).softmax(-1)


def label_sets(logits: Tensor) -> Tensor:
    """Multi-hot rows with few and with many labels."""
    return (torch.rand(logits.shape, generator=seeded(), dtype=torch.float64) < 0.5).double()


class Loss(NamedTuple):
    public: Callable[..., Tensor]
    twin: type[torch.nn.Module]
    targets: Callable[[Tensor], Tensor]
    by_row: bool  # one loss a row, else one an element
    required: tuple[tuple[str, Any], ...] = ()  # arguments without a default

    @property
    def function(self) -> Callable[..., Tensor]:
        return partial(self.public, **dict(self.required)) if self.required else self.public

    def module(self, **options) -> torch.nn.Module:
        return self.twin(**dict(self.required), **options)


LOSSES = [
    Loss(losses.binary_cross_entropy, losses.BinaryCrossEntropy, probabilities, False),
    Loss(
        losses.taylor_binary_cross_entropy,
        losses.TaylorBinaryCrossEntropy,
        probabilities,
        False,
        (("order", 3),),
    ),
    Loss(losses.focal_loss, losses.FocalLoss, probabilities, False),
    Loss(losses.asymmetric_loss, losses.AsymmetricLoss, probabilities, False),
    Loss(losses.asymmetric_polynomial_loss, losses.AsymmetricPolynomialLoss, probabilities, False),
    Loss(losses.softmax_cross_entropy, losses.SoftmaxCrossEntropy, classes, True),
    Loss(losses.softmax_cross_entropy, losses.SoftmaxCrossEntropy, distributions, True),
    Loss(losses.softmax_squared_error, losses.SoftmaxSquaredError, classes, True),
    Loss(losses.softmax_squared_error, losses.SoftmaxSquaredError, distributions, True),
    Loss(
        losses.multilabel_softmax_cross_entropy,
        losses.MultilabelSoftmaxCrossEntropy,
        label_sets,
        True,
    ),
]


def parametrize_losses(keep=lambda loss: True):
    return pytest.mark.parametrize(
        "loss",
        [loss for loss in LOSSES if keep(loss)],
        ids=lambda loss: f"{loss.public.__name__}-{loss.targets.__name__}",
    )


every_loss = parametrize_losses()
losses_by_row = parametrize_losses(lambda loss: loss.by_row)
losses_of_indices = parametrize_losses(lambda loss: loss.targets is classes)
losses_of_values = parametrize_losses(lambda loss: loss.targets is not classes)
losses_of_soft_targets = parametrize_losses(
    lambda loss: loss.targets in (probabilities, distributions)
)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def example(loss: Loss, *shape: int, dtype=torch.float64) -> tuple[Tensor, Tensor]:
    """Logits in [-6, 6] and valid targets."""
    generator = torch.Generator().manual_seed(0)
    logits = (torch.rand(shape or (4, 3), generator=generator, dtype=torch.float64) * 12 - 6).to(
        dtype
    )
    return logits, loss.targets(logits)


def test_every_public_loss_is_on_the_list_with_its_module():
    listed = {case.public.__name__: case.twin.__name__ for case in LOSSES}
    assert sorted([*listed, *listed.values()]) == sorted(losses.__all__)


@every_loss
@pytest.mark.parametrize("shape", [(4, 3), (3,), (2, 3, 5)])
def test_reductions_sum_and_average_over_every_loss(loss, shape):
    logits, targets = example(loss, *shape)
    each = loss.function(logits, targets, reduction="none")
    assert each.shape == (shape[:-1] if loss.by_row else shape)
    assert (each > 0).any()
    total = loss.function(logits, targets, reduction="sum")
    assert total.shape == ()
    torch.testing.assert_close(total, each.sum())
    torch.testing.assert_close(loss.function(logits, targets, reduction="mean"), each.mean())
    torch.testing.assert_close(loss.function(logits, targets), each.mean())


@every_loss
@pytest.mark.parametrize("reduction", ["Mean", "avg", None, 0])
def test_another_reduction_is_an_error_that_lists_the_three_words(loss, reduction):
    with pytest.raises(ValueError, match=r'"mean", "sum" or "none", got'):
        loss.function(*example(loss), reduction=reduction)


@every_loss
@pytest.mark.parametrize("dtype", FLOATS)
def test_result_and_gradient_have_the_dtype_of_the_logits(loss, dtype):
    logits, targets = example(loss, dtype=dtype)
    logits.requires_grad_()
    each = loss.function(logits, targets, reduction="none")
    (gradient,) = torch.autograd.grad(each.sum(), logits)
    assert each.dtype == gradient.dtype == dtype

    exact = logits.detach().double().requires_grad_()
    want = loss.function(exact, targets, reduction="none")
    (slope,) = torch.autograd.grad(want.sum(), exact)
    # rounded once: one unit in the last place; targets are cast to float32 first
    accuracy = {"rtol": max(torch.finfo(dtype).eps, 1e-6), "atol": 1e-6}
    torch.testing.assert_close(each.double(), want, **accuracy)
    torch.testing.assert_close(gradient.double(), slope, **accuracy)


@every_loss
@pytest.mark.parametrize("dtype", HALF)
def test_the_mean_of_a_half_precision_batch_does_not_overflow(loss, dtype):
    logits = torch.tensor([[64.0, -64.0, 0.0]], dtype=dtype).expand(4096, 3)
    targets = loss.targets(logits[:1]).expand(4096, *loss.targets(logits[:1]).shape[1:])
    each = loss.function(logits[:1], targets[:1])
    torch.testing.assert_close(loss.function(logits, targets), each)


@every_loss
@pytest.mark.parametrize("dtype", FLOATS)
def test_loss_and_gradient_are_finite_at_extreme_logits(loss, dtype):
    levels = torch.tensor([-1e4, -745.5, -88.0, 0.0, 17.0, 104.0, 1e4], dtype=dtype)
    logits = torch.cartesian_prod(levels, levels, levels).requires_grad_()
    each = loss.function(logits, loss.targets(logits), reduction="none")
    (gradient,) = torch.autograd.grad(each.sum(), logits)
    assert each.isfinite().all()
    assert gradient.isfinite().all()
    assert each.amax() > 1


@every_loss
def test_a_nan_logit_makes_its_own_loss_nan_and_no_other(loss):
    logits, targets = example(loss)
    clean = loss.function(logits, targets, reduction="none")
    logits[1, 2] = torch.nan
    each = loss.function(logits, targets, reduction="none")
    bad = torch.zeros_like(clean, dtype=torch.bool)
    bad[1 if loss.by_row else (1, 2)] = True
    assert each[bad].isnan().all()
    torch.testing.assert_close(each[~bad], clean[~bad])


@every_loss
def test_an_empty_batch_is_legal(loss):
    logits, targets = example(loss, 0, 3)
    logits.requires_grad_()
    assert loss.function(logits, targets, reduction="none").shape == (
        (0,) if loss.by_row else (0, 3)
    )
    assert loss.function(logits, targets).isnan()
    total = loss.function(logits, targets, reduction="sum")
    total.backward()
    assert total == 0
    assert logits.grad.shape == (0, 3)


@every_loss
def test_the_arguments_are_left_as_they_were(loss):
    logits, targets = example(loss)
    before = logits.clone(), targets.clone()
    loss.function(logits, targets)
    assert torch.equal(logits, before[0])
    assert torch.equal(targets, before[1])


@every_loss
def test_the_memory_layout_does_not_matter(loss):
    logits, targets = example(loss, 4, 3)
    turned = logits.t().contiguous().t()
    assert not turned.is_contiguous()
    assert torch.equal(loss.function(turned, targets), loss.function(logits, targets))


@every_loss
@pytest.mark.parametrize("grad", [True, False])
def test_the_gradient_mode_is_left_as_it_was(loss, grad):
    logits, targets = example(loss)
    with torch.set_grad_enabled(grad):
        result = loss.function(logits.requires_grad_(), targets)
        assert torch.is_grad_enabled() == result.requires_grad == grad
        with pytest.raises(ValueError, match="targets"):
            loss.function(logits, targets[:2])
        assert torch.is_grad_enabled() == grad


@every_loss
def test_inference_mode_gives_the_same_loss(loss):
    logits, targets = example(loss)
    want = loss.function(logits, targets)
    with torch.inference_mode():
        assert torch.equal(loss.function(logits, targets), want)


@every_loss
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_logits_of_another_kind_are_an_error_that_lists_the_dtypes(loss, dtype):
    logits, targets = example(loss)
    with pytest.raises(TypeError, match=r"logits .*float16.*bfloat16.*float32.*float64, got"):
        loss.function(logits.to(dtype), targets)


@every_loss
@pytest.mark.parametrize("place", [0, 1])
def test_an_argument_that_is_no_tensor_is_an_error_that_names_it(loss, place):
    arguments = list(example(loss))
    arguments[place] = np.asarray(arguments[place])
    with pytest.raises(TypeError, match=rf"{('logits', 'targets')[place]} .*got ndarray"):
        loss.function(*arguments)


@every_loss
def test_complex_targets_are_an_error(loss):
    logits, targets = example(loss)
    with pytest.raises(TypeError, match=r"targets must be real, got torch\.complex64"):
        loss.function(logits, targets.to(torch.complex64))


@every_loss
@pytest.mark.parametrize(
    "change", [lambda t: t[:3], lambda t: t[0], lambda t: t[:, None], lambda t: t[..., :1]]
)
def test_shapes_that_do_not_fit_are_an_error_that_shows_both(loss, change):
    logits, targets = example(loss)
    wrong = change(targets) if targets.ndim == 2 else torch.zeros(4, 1, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"^\w* ?targets .*\(4,.*got \("):
        loss.function(logits, wrong)


def out_of_range(loss, value):
    logits, targets = example(loss)
    targets.flatten()[1] = value
    with pytest.raises(ValueError, match=r"^targets must"):
        loss.function(logits, targets)


@every_loss
@pytest.mark.parametrize("value", [-1, 7])
def test_a_target_out_of_range_is_an_error(loss, value):
    out_of_range(loss, value)


@losses_of_values
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_target_that_is_not_finite_is_an_error(loss, value):
    out_of_range(loss, value)


@every_loss
def test_first_and_second_derivatives_are_those_of_the_value(loss):
    logits, targets = example(loss)
    logits.requires_grad_()

    def each(z):
        return loss.function(z, targets, reduction="none")

    assert torch.autograd.gradcheck(each, logits, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(each, logits, check_fwd_over_rev=True)


@losses_of_soft_targets
def test_soft_targets_have_a_gradient_too(loss):
    logits, targets = example(loss)
    soft = (targets * 0.5 + 0.25 if not loss.by_row else targets).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: loss.function(logits, t, reduction="none"), soft)


@every_loss
def test_hessians_agree_in_every_nesting_of_modes(loss):
    logits, targets = example(loss)
    want = torch.autograd.functional.hessian(lambda z: loss.function(z, targets), logits)
    assert want.abs().max() > 1e-3
    forward, reverse = torch.func.jacfwd, torch.func.jacrev
    for outer in (forward, reverse):
        for inner in (forward, reverse):
            hessian = outer(inner(lambda z: loss.function(z, targets)))
            torch.testing.assert_close(hessian(logits), want, rtol=1e-12, atol=1e-15)


@every_loss
def test_vmap_gives_the_loss_and_the_gradient_of_each_example(loss):
    logits, targets = example(loss)
    values = torch.func.vmap(loss.function)(logits, targets)
    gradients = torch.func.vmap(torch.func.grad(loss.function))(logits, targets)
    for i in range(len(logits)):
        torch.testing.assert_close(values[i], loss.function(logits[i], targets[i]))
        torch.testing.assert_close(
            gradients[i], torch.func.grad(loss.function)(logits[i], targets[i])
        )


@every_loss
def test_vmap_may_map_one_argument_only(loss):
    logits, targets = example(loss)
    by_target = torch.func.vmap(loss.function, in_dims=(None, 0))(logits, targets[None])
    by_logits = torch.func.vmap(loss.function, in_dims=(0, None))(logits[None], targets)
    want = loss.function(logits, targets)
    torch.testing.assert_close(by_target[0], want)
    torch.testing.assert_close(by_logits[0], want)


@every_loss
def test_compiled_code_is_one_graph_with_the_same_loss_and_gradient(loss):
    logits, targets = example(loss)
    compiled = torch.compile(loss.function, backend="aot_eager", fullgraph=True)
    results = []
    for function in (loss.function, compiled):
        leaf = logits.clone().requires_grad_()
        value = function(leaf, targets)
        value.backward()
        results.append((value.detach(), leaf.grad))
    torch.testing.assert_close(results[1], results[0])


@losses_of_values
def test_traced_code_has_no_values_to_check(loss):
    logits, targets = example(loss)
    wrong = targets + 7
    compiled = torch.compile(loss.function, backend="eager", fullgraph=True)
    mapped = torch.func.vmap(loss.function)
    for value in (compiled(logits, wrong), mapped(logits, wrong)):
        assert value.isfinite().all()
    with pytest.raises(ValueError, match="targets"):
        loss.function(logits, wrong)


@losses_of_indices
def test_an_index_out_of_range_is_an_error_in_traced_code_too(loss):
    logits, targets = example(loss)
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.func.vmap(loss.function)(logits, targets + 7)


@losses_of_values
def test_a_nan_target_stays_nan_in_traced_code(loss):
    logits, targets = example(loss)
    targets[0, 0] = torch.nan
    each = torch.func.vmap(lambda z, t: loss.function(z, t, reduction="none"))(logits, targets)
    assert each[0].isnan().any()
    assert each[1:].isfinite().all()


@every_loss
def test_make_fx_traces_the_gradient(loss):
    logits, targets = example(loss)

    def gradient(z, t):
        return torch.func.grad(loss.function)(z, t)

    traced = make_fx(gradient, tracing_mode="symbolic")(logits, targets)
    torch.testing.assert_close(traced(logits, targets), gradient(logits, targets))


@every_loss
def test_meta_tensors_have_a_shape_and_no_values(loss):
    logits, targets = (tensor.to("meta") for tensor in example(loss))
    each = loss.function(logits, targets, reduction="none")
    assert each.device.type == "meta"
    assert each.shape == ((4,) if loss.by_row else (4, 3))


@every_loss
def test_autocast_changes_nothing(loss):
    logits, targets = example(loss, dtype=torch.bfloat16)
    want = loss.function(logits, targets)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = loss.function(logits.requires_grad_(), targets)
    result.backward()
    assert result.dtype == logits.grad.dtype == torch.bfloat16
    assert torch.equal(result, want)


@every_loss
def test_the_module_takes_the_options_of_the_function(loss):
    logits, targets = example(loss)
    options = [
        parameter
        for parameter in inspect.signature(loss.public).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    assert list(inspect.signature(loss.twin).parameters.values()) == options
    module = loss.module(reduction="sum")
    assert torch.equal(module(logits, targets), loss.function(logits, targets, reduction="sum"))
    assert torch.equal(loss.module()(logits, targets), loss.function(logits, targets))
    assert "reduction='sum'" in repr(module)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(twin(logits, targets), module(logits, targets))
    module.reduction = "none"
    assert module(logits, targets).ndim > 0


@every_loss
def test_the_module_refuses_unknown_options_at_once(loss):
    with pytest.raises(TypeError, match="weight"):
        loss.module(weight=2.0)
    with pytest.raises(ValueError, match=r"reduction .*got 'avg'"):
        loss.module(reduction="avg")


@every_loss
def test_the_docstring_has_every_section(loss):
    for section in ("Parameters", "Returns", "Raises", "Notes", "Examples"):
        assert f"\n    {section}\n    ---" in loss.public.__doc__
    assert loss.public.__name__ in loss.twin.__doc__


@losses_by_row
@pytest.mark.parametrize("shape", [(5, 0), (0, 0), ()])
def test_a_softmax_without_a_class_is_an_error(loss, shape):
    with pytest.raises(ValueError, match="at least one class"):
        loss.function(torch.zeros(shape), torch.zeros(shape))


def test_sigmoid_losses_take_rows_without_labels_and_scalars():
    for loss in LOSSES:
        if not loss.by_row:
            logits = torch.zeros(5, 0, requires_grad=True)
            total = loss.function(logits, torch.zeros(5, 0), reduction="sum")
            total.backward()
            assert total == 0
            assert logits.grad.shape == (5, 0)
            assert loss.function(torch.zeros(()), torch.zeros(()), reduction="none").shape == ()
