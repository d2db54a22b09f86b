r"""The asymmetric polynomial loss of each element, by formulas that autograd can follow.

With :math:`p = \sigma(l)`, :math:`q = 1 - p` and :math:`r = \max(p - p_{th}, 0)`

.. math:: L_+ = q^{\gamma_+}[\alpha_1 q + \alpha_2 q^2 + T_3(q)], \qquad
          L_- = r^{\gamma_-}[\beta_1 r + T_2(r)],

where :math:`T_k(x) = \sum_{j \ge k} x^j / j` is the tail of :math:`-\log(1 - x)`. Summing the tail
instead of subtracting from a logarithm keeps every digit where the leading terms are small.

This is the reference: every derivative exists and is accurate, at the price of many tensors.
`logitlib.losses._fused` computes the same value and first derivative in one pass.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from logitlib.losses._check import check_number

# Above this argument a tail is the logarithm less its leading terms; the cancellation there costs
# less than one digit. At and below, it is its series.
SERIES_END = 0.6
# Terms of atanh(s) at s = SERIES_END / (2 - SERIES_END) until the rest is below rounding.
N_TERMS = {torch.float32: 10, torch.float64: 22}


@dataclass(frozen=True)
class Polynomial:
    """Hyper-parameters of the loss; ``weight_pos`` and ``weight_neg`` are those of focal loss."""

    alpha1: float = 1.0
    alpha2: float = 0.5
    beta1: float = 1.0
    gamma_pos: float = 0.0
    gamma_neg: float = 0.0
    p_th: float = 0.0
    detach_focus: bool = False
    weight_pos: float = 1.0
    weight_neg: float = 1.0

    def __post_init__(self) -> None:
        for name in ("alpha1", "alpha2", "beta1"):
            check_number(name, getattr(self, name), "a finite number", math.isfinite)
        for name in ("gamma_pos", "gamma_neg"):
            wanted = "a finite number >= 0"
            check_number(name, getattr(self, name), wanted, lambda x: 0 <= x < math.inf)
        check_number("p_th", self.p_th, "a number with 0 <= p_th < 1", lambda x: 0 <= x < 1)

    @property
    def threshold(self) -> float:
        """The logit of ``p_th``; at and below it a negative costs nothing."""
        return math.log(self.p_th) - math.log1p(-self.p_th) if self.p_th > 0 else -math.inf

    @property
    def positive_log(self) -> bool:
        """Whether taking the bracket of a positive from the logarithm costs a factor 3 at most."""
        return self.alpha1 >= 0.5 and self.alpha2 >= 0

    @property
    def negative_log(self) -> bool:
        """Whether taking the bracket of a negative from the logarithm costs a factor 3 at most."""
        return self.beta1 >= 0.5


def elementwise(z: Tensor, t: Tensor, c: Polynomial) -> Tensor:
    """Loss of each element, in float32 or float64, for checked arguments."""
    # an infinite logit that its target is sure of would meet its infinite other loss times 0
    for_positive = torch.where((t == 0) & (z == -math.inf), 0.0, z)
    for_negative = torch.where((t == 1) & (z == math.inf), 0.0, z)
    return t * (c.weight_pos * _positive(for_positive, c)) + (1 - t) * (
        c.weight_neg * _negative(for_negative, c)
    )


def probabilities(z: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    r"""Return :math:`p`, :math:`q`, :math:`\log p`, :math:`\log q`, with accurate derivatives."""
    # the sign is a constant, because the derivative of abs is 0 at 0
    sign = torch.copysign(torch.ones((), dtype=z.dtype, device=z.device), z.detach())
    right = sign > 0
    e = (-sign * z).exp()
    large = 1 / (1 + e)
    small = e * large
    log_large = -e.log1p()
    # z and -z, and never inf - inf
    log_p = torch.where(right, 0.0, z) + log_large
    log_q = torch.where(right, -z, 0.0) + log_large
    return torch.where(right, large, small), torch.where(right, small, large), log_p, log_q


def power(base: Tensor, log_base: Tensor, gamma: float) -> Tensor:
    """Base to the gamma, with finite derivatives of any order where the base is 0."""
    if is_small_integer(gamma):
        return integer_power(base, int(gamma))
    # the second factor is 1; it carries the derivatives, none of which divides by the base
    return base.detach().pow(gamma) * (gamma * (log_base - log_base.detach())).exp()


def is_small_integer(gamma: float) -> bool:
    """Whether a power is best taken by multiplying."""
    return gamma == int(gamma) and gamma <= 16


def integer_power(base: Tensor, exponent: int) -> Tensor:
    """Base to a whole exponent >= 1 by squaring, cheaper and more exact than ``pow``."""
    if exponent == 1:
        return base
    half = integer_power(base, exponent // 2)
    return half * half * base if exponent % 2 else half * half


def atanh_tail(s2: Tensor) -> Tensor:
    r"""Return :math:`1/3 + s^2/5 + s^4/7 + \dots` from :math:`s^2`, by Horner's rule."""
    n_terms = N_TERMS[s2.dtype]
    total = torch.full_like(s2, 1 / (2 * n_terms + 1))
    for k in range(n_terms - 1, 0, -1):
        total = total * s2 + 1 / (2 * k + 1)
    return total


def _positive(z: Tensor, c: Polynomial) -> Tensor:
    _, q, log_p, log_q = probabilities(z)
    if c.positive_log:
        bracket = -log_p + (c.alpha1 - 1) * q + (c.alpha2 - 0.5) * q * q
    else:
        # -log(1 - q) = 2 atanh(s), of which 2s takes away q and q**2 / 2 but for the first term
        s = q / (2 - q)
        series = q * q * q / (2 * (2 - q)) + 2 * s * s * s * atanh_tail(s * s)
        tail = torch.where(q <= SERIES_END, series, -log_p - q - q * q / 2)
        bracket = c.alpha1 * q + c.alpha2 * q * q + tail
    return _focused(bracket, q, log_q, c.gamma_pos, c.detach_focus)


def _negative(z: Tensor, c: Polynomial) -> Tensor:
    p, q, log_p, log_q = probabilities(z)
    if c.p_th == 0:
        r, log_r, log_rest = p, log_p, log_q
    else:
        # not (z > threshold), so that NaN stays NaN
        r = torch.where(z <= c.threshold, 0.0, (p - c.p_th).relu())
        log_r = torch.where(r > 0, r, 1.0).log()
        log_rest = torch.where(r <= 0.5, torch.log1p(-r), (q + c.p_th).log())
    if c.negative_log:
        bracket = -log_rest + (c.beta1 - 1) * r
    else:
        s = r / (2 - r)
        series = r * r / (2 - r) + 2 * s * s * s * atanh_tail(s * s)
        bracket = c.beta1 * r + torch.where(r <= SERIES_END, series, -log_rest - r)
    return _focused(bracket, r, log_r, c.gamma_neg, c.detach_focus)


def _focused(bracket: Tensor, base: Tensor, log_base: Tensor, gamma: float, detach: bool) -> Tensor:
    if gamma == 0:
        return bracket
    focus = power(base, log_base.clamp(min=-1e30), gamma)
    return (focus.detach() if detach else focus) * bracket
