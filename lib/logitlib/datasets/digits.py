r"""Digit canvases: several handwritten digits on one picture, a small visual multi-label set."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from logitlib.datasets._check import check_int

SIDE = 8  # pixels of one digit
N_CLASSES = 10
# rows of scikit-learn's digits; each pool begins where the sequence that every writer had to copy
# (0 to 9, 0 to 9, ...) begins again, so nobody's handwriting is in two pools
POOLS = {"train": range(1157), "valid": range(1157, 1415), "test": range(1415, 1797)}


@dataclass(frozen=True, eq=False, repr=False)
class DigitCanvases:
    """Canvases and the digits on them.

    Attributes
    ----------
    images : ndarray of float32, shape (n_canvases, size, size)
        Ink in [0, 1]; 0 is background.
    labels : ndarray of uint8, shape (n_canvases, 10)
        1 where the digit is on the canvas.
    digit_rows : ndarray of int64, shape (n_canvases, max_digits)
        Rows of ``sklearn.datasets.load_digits`` that were pasted, then -1 up to max_digits.
    """

    images: np.ndarray
    labels: np.ndarray
    digit_rows: np.ndarray

    def __repr__(self) -> str:
        n_canvases, height, width = self.images.shape
        return f"<DigitCanvases: {n_canvases} images of {height} x {width}, {N_CLASSES} labels>"


def make_digit_canvases(
    n_canvases: int,
    *,
    split: str,
    seed: int,
    size: int = 36,
    max_digits: int = 5,
    label_weights: Sequence[float] | None = None,
) -> DigitCanvases:
    r"""Paste 1 to max_digits different digits at random places, none over another.

    The number of digits is uniform, then come the classes (no class twice), then an image of each
    class, then the places: uniform over all placements whose 8 x 8 squares do not overlap.

    Parameters
    ----------
    n_canvases : int
        Number of canvases, at least 0.
    split : {"train", "valid", "test"}
        Which digit images to draw from. The three pools are disjoint and always the same.
    seed : int
        At least 0. The same arguments give the same canvases; the same seed for another split
        gives unrelated ones.
    size : int
        Height and width in pixels. The digits may cover at most a quarter of the canvas:
        :math:`\text{size}^2 \ge 4 \cdot 8^2\,\text{max\_digits}`.
    max_digits : int
        Most digits on a canvas, 1 to 10.
    label_weights : 10 numbers, optional
        Classes are drawn one after another with probability proportional to these, among those
        not yet on the canvas. At least 0 and finite; at least max_digits of them above 0. Without
        them all classes are alike; a falling sequence gives a long tail.

    Returns
    -------
    DigitCanvases

    Raises
    ------
    TypeError
        If an integer argument is not an int.
    ValueError
        If an argument is out of its range; the message names it.

    Notes
    -----
    The digits are the 1,797 images of ``sklearn.datasets.load_digits``: rows 0 to 1,156 for
    training, to 1,414 for validation, the rest for the test. The rows are in the order of
    writing, and the sequence of digits to copy starts again at these rows, so a new writer does
    too, as far as the data tell. The draws follow NumPy's ``default_rng``, whose stream may
    change with NumPy's version.

    Examples
    --------
    >>> canvases = make_digit_canvases(100, split="train", seed=0)
    >>> canvases
    <DigitCanvases: 100 images of 36 x 36, 10 labels>
    >>> int(canvases.labels.sum(axis=1).min()), int(canvases.labels.sum(axis=1).max())
    (1, 5)
    """
    check_int("n_canvases", n_canvases, 0)
    check_int("seed", seed, 0)
    check_int("max_digits", max_digits, 1, N_CLASSES)
    check_int(f"size for max_digits={max_digits}", size, int(np.ceil(2 * SIDE * max_digits**0.5)))
    if split not in POOLS:
        raise ValueError(f"split must be one of {', '.join(POOLS)}; got {split!r}")
    weights = _check_weights(label_weights, max_digits)

    # the split is part of the seed: with equal draws, test canvases would repeat the label sets
    # and places of the training canvases
    rng = np.random.default_rng([seed, list(POOLS).index(split)])
    present = np.arange(max_digits) < rng.integers(1, max_digits + 1, (n_canvases, 1))
    classes = _draw_classes(rng, weights, present.shape)
    digit_rows = np.where(present, _draw_images(rng, classes, split), -1)
    corners = _draw_places(rng, present, size)

    labels = np.zeros((n_canvases, N_CLASSES), dtype=np.uint8)
    labels[np.nonzero(present)[0], classes[present]] = 1
    return DigitCanvases(_paste(digit_rows, corners, size), labels, digit_rows)


def _draw_classes(
    rng: np.random.Generator, weights: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    # the classes of the largest log weight + Gumbel noise, in falling order, are draws without
    # replacement with probabilities proportional to the weights
    n_canvases, max_digits = shape
    with np.errstate(divide="ignore"):
        keys = np.log(weights) + rng.gumbel(size=(n_canvases, N_CLASSES))
    return np.argsort(-keys, axis=1)[:, :max_digits]


def _draw_images(rng: np.random.Generator, classes: np.ndarray, split: str) -> np.ndarray:
    pool = np.array(POOLS[split])
    target = load_digits().target[pool]
    counts = np.bincount(target, minlength=N_CLASSES)
    first = np.cumsum(counts) - counts  # of each class in the pool sorted by class
    by_class = pool[np.argsort(target, kind="stable")]
    return by_class[first[classes] + rng.integers(counts[classes])]


def _draw_places(rng: np.random.Generator, present: np.ndarray, size: int) -> np.ndarray:
    # a canvas with an overlap draws all its places again: only this keeps them uniform
    n_canvases, max_digits = present.shape
    corners = np.zeros((n_canvases, max_digits, 2), dtype=np.int64)
    again = np.arange(n_canvases)
    while again.size:
        corners[again] = rng.integers(0, size - SIDE + 1, (again.size, max_digits, 2))
        again = again[_overlap(corners[again], present[again])]
    return corners


def _overlap(corners: np.ndarray, present: np.ndarray) -> np.ndarray:
    i, j = np.triu_indices(present.shape[1], k=1)
    close = (np.abs(corners[:, i] - corners[:, j]) < SIDE).all(axis=2)
    return (close & present[:, i] & present[:, j]).any(axis=1)


def _paste(digit_rows: np.ndarray, corners: np.ndarray, size: int) -> np.ndarray:
    digits = (load_digits().images / 16).astype(np.float32)
    images = np.zeros((len(digit_rows), size, size), dtype=np.float32)
    canvas, slot = np.nonzero(digit_rows >= 0)
    top, left = corners[canvas, slot].T[:, :, None, None]
    y, x = np.ogrid[:SIDE, :SIDE]
    images[canvas[:, None, None], top + y, left + x] = digits[digit_rows[canvas, slot]]
    return images


def _check_weights(label_weights: Sequence[float] | None, max_digits: int) -> np.ndarray:
    if label_weights is None:
        return np.ones(N_CLASSES)
    weights = np.asarray(label_weights, dtype=np.float64)
    if weights.shape != (N_CLASSES,):
        raise ValueError(f"label_weights must hold {N_CLASSES} numbers, got shape {weights.shape}")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"label_weights must be finite and at least 0, got {label_weights}")
    if np.count_nonzero(weights) < max_digits:
        raise ValueError(
            f"label_weights must have at least max_digits={max_digits} entries above 0, "
            f"got {np.count_nonzero(weights)}"
        )
    return weights
