"""What "accurate" means for a loss: relative, wherever the true value is a normal number."""

import math

import mpmath
import pytest
import torch

# a few units in the last place of each dtype, as the docstrings promise
TOLERANCE = {torch.float64: 1e-14, torch.float32: 2e-6}


@pytest.fixture(scope="session")
def assert_accurate():
    """Compare a tensor with mpmath numbers, one by one; below the normal range 0 will do."""

    def check(got, want):
        smallest, largest = torch.finfo(got.dtype).tiny, torch.finfo(got.dtype).max
        want = [want] if isinstance(want, mpmath.mpf) else list(want)
        assert got.numel() == len(want)
        for value, truth in zip(got.flatten().tolist(), want, strict=True):
            if abs(truth) > largest:
                assert value == math.copysign(math.inf, truth)
            else:
                allowed = max(TOLERANCE[got.dtype] * abs(truth), smallest)
                assert abs(value - truth) <= allowed, (value, mpmath.nstr(truth, 17))
                assert truth == 0 or abs(truth) <= 2 * smallest or value != 0

    return check
