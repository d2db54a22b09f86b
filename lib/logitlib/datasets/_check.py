"""Argument checks that the data sets share."""

import numpy as np


def check_int(name: str, value: int, low: int, high: int | None = None) -> None:
    """Raise TypeError unless value is an integer, ValueError unless low <= value <= high."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an int, got {value!r} of type {type(value).__name__}")
    if value < low or (high is not None and value > high):
        accepted = f"at least {low}" if high is None else f"{low} to {high}"
        raise ValueError(f"{name} must be {accepted}, got {value}")
