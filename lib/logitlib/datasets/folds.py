"""Cross-validation folds that keep groups whole and never move."""

import hashlib
from collections.abc import Iterable

import numpy as np

from logitlib.datasets._check import check_int


def grouped_folds(
    groups: Iterable[str], n_folds: int = 10, *, salt: str = "logitlib-folds-1"
) -> np.ndarray:
    r"""Fold of each row, :math:`\mathrm{SHA256}(\text{salt}:\text{group}) \bmod n_\text{folds}`.

    The fold depends on the group's name alone. So all rows of a group share a fold, and adding,
    dropping or reordering rows, or changing the machine, moves no other row.

    Parameters
    ----------
    groups : iterable of str, length n_rows
        The group of each row, for example ``load_debtags().sources``.
    n_folds : int
        Number of folds, at least 2.
    salt : str
        Another salt gives another, unrelated assignment.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        Values in 0 … n_folds - 1.

    Raises
    ------
    TypeError
        If a group is not a str, or n_folds not an int.
    ValueError
        If n_folds is below 2.

    Notes
    -----
    Unlike scikit-learn's ``GroupKFold``, sizes are not balanced: fold sizes vary as the group
    sizes do, and with few groups a fold may stay empty. The hash uses the first 8 bytes of the
    digest, big-endian.

    Examples
    --------
    >>> grouped_folds(["vim", "emacs", "vim"])
    array([1, 0, 1])
    """
    check_int("n_folds", n_folds, 2)
    if isinstance(groups, str):
        raise TypeError(f"groups must be one str for each row, got the single str {groups!r}")
    groups = list(groups)
    fold = {group: _fold(group, int(n_folds), salt) for group in dict.fromkeys(groups)}
    return np.array([fold[group] for group in groups], dtype=np.int64)


def _fold(group: str, n_folds: int, salt: str) -> int:
    if not isinstance(group, str):
        raise TypeError(f"groups must hold str, got {group!r} of type {type(group).__name__}")
    digest = hashlib.sha256(f"{salt}:{group}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % n_folds
