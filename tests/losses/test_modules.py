"""The modules keep and pass on the options of their function, also those of a new loss."""

import inspect

import pytest
import torch

from logitlib.losses import MultilabelSoftmaxCrossEntropy, multilabel_softmax_cross_entropy
from logitlib.losses.modules import Loss

LOGITS, TARGETS = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[1, 1, 0]])


def scaled_distance(logits, targets, *, scale: float, reduction: str = "mean"):
    return scale * (logits - targets).abs().mean()


class ScaledDistance(Loss):
    """A loss with an option that has no default."""

    function = staticmethod(scaled_distance)


def test_every_option_reaches_the_function():
    undivided = MultilabelSoftmaxCrossEntropy(normalize=False, reduction="none")
    want = multilabel_softmax_cross_entropy(LOGITS, TARGETS, normalize=False, reduction="none")
    assert torch.equal(undivided(LOGITS, TARGETS), want)
    assert not torch.equal(MultilabelSoftmaxCrossEntropy()(LOGITS, TARGETS), want[0])


def test_an_option_may_be_changed_later():
    module = MultilabelSoftmaxCrossEntropy()
    module.normalize = False
    want = multilabel_softmax_cross_entropy(LOGITS, TARGETS, normalize=False)
    assert torch.equal(module(LOGITS, TARGETS), want)


def test_help_shows_the_options_of_the_function():
    assert str(inspect.signature(ScaledDistance)) == "(*, scale: float, reduction: str = 'mean')"


def test_a_required_option_is_required():
    assert ScaledDistance(scale=2.0)(torch.ones(3), torch.zeros(3)) == 2
    with pytest.raises(TypeError, match="scale"):
        ScaledDistance()


def test_a_module_has_no_state_and_no_parameters():
    module = MultilabelSoftmaxCrossEntropy()
    assert not list(module.parameters())
    assert not module.state_dict()
    assert repr(module) == "MultilabelSoftmaxCrossEntropy(normalize=True, reduction='mean')"
