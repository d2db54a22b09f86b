"""Metrics of multi-label classification, for dense and for sparse label matrices.

Every metric takes ``(scores, targets)``: scores, logits or probabilities of shape (n_rows,
n_labels) first, the 0/1 label matrix of the same shape second; everything else by keyword. What is
averaged over what, which rows and labels count, and what happens to ties stands in each docstring,
because that is where two papers that report "the same" metric differ.
"""

from logitlib.metrics.average_precision import (
    mean_average_precision,
    weighted_mean_average_precision,
)
from logitlib.metrics.bootstrap import Interval, bootstrap_weights, paired_bootstrap
from logitlib.metrics.calibration import expected_calibration_error
from logitlib.metrics.f1 import best_threshold, macro_f1, micro_f1
from logitlib.metrics.ranking import ndcg_at_k, precision_at_k

__all__ = [
    "precision_at_k",
    "ndcg_at_k",
    "mean_average_precision",
    "weighted_mean_average_precision",
    "micro_f1",
    "macro_f1",
    "best_threshold",
    "expected_calibration_error",
    "paired_bootstrap",
    "bootstrap_weights",
    "Interval",
]
