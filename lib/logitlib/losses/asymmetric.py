r"""Losses that treat positives and negatives differently: focal, asymmetric, polynomial."""

from torch import Tensor

from logitlib.losses._check import check_number, check_probabilities, check_reduction, reduce
from logitlib.losses._fused import fusable, fused
from logitlib.losses._polynomial import Polynomial, elementwise


def asymmetric_polynomial_loss(
    logits: Tensor,
    targets: Tensor,
    *,
    alpha1: float = 1.0,
    alpha2: float = 0.5,
    beta1: float = 1.0,
    gamma_pos: float = 0.0,
    gamma_neg: float = 0.0,
    p_th: float = 0.0,
    detach_focus: bool = False,
    reduction: str = "mean",
) -> Tensor:
    r"""Asymmetric polynomial loss (APL): the first coefficients of the series are set by hand.

    With :math:`p = \sigma(z)`, :math:`q = 1 - p` and :math:`r = \max(p - p_{th}, 0)` a target
    :math:`y` costs :math:`y L_+ + (1 - y) L_-`, where

    .. math::

        L_+ &= q^{\gamma_+} \bigl[-\log p + (\alpha_1 - 1) q + (\alpha_2 - \tfrac12) q^2\bigr]
             = q^{\gamma_+} \bigl[\alpha_1 q + \alpha_2 q^2 + \tfrac13 q^3 + \dots\bigr] \\
        L_- &= r^{\gamma_-} \bigl[-\log(1 - r) + (\beta_1 - 1) r\bigr]
             = r^{\gamma_-} \bigl[\beta_1 r + \tfrac12 r^2 + \tfrac13 r^3 + \dots\bigr]

    The defaults are those of binary cross-entropy.

    Parameters
    ----------
    logits : Tensor, shape (...), floating
        Log-odds in nats. Infinite ones are limits.
    targets : Tensor, same shape, floating, integer or bool
        Probabilities in [0, 1] that the label is present, most often 0 or 1.
    alpha1, alpha2 : float
        Coefficients of :math:`q` and :math:`q^2` for positives. Negative ones are allowed, and
        may make the loss negative; nothing is clipped.
    beta1 : float
        Coefficient of :math:`r` for negatives; may be negative, too.
    gamma_pos, gamma_neg : float
        Focusing exponents :math:`\gamma_+, \gamma_- \ge 0`.
    p_th : float
        Probability, in [0, 1), up to which a negative costs nothing.
    detach_focus : bool
        Let no gradient through the factors :math:`q^{\gamma_+}` and :math:`r^{\gamma_-}`, as the
        published code does. The value stays; the gradient is no longer that of the value.
    reduction : {"mean", "sum", "none"}
        "mean" averages over every element, not over rows; it is NaN over nothing.

    Returns
    -------
    Tensor
        Of the dtype of ``logits``; a scalar, or the shape of ``logits`` for "none".

    Raises
    ------
    TypeError
        If an argument is no tensor, ``logits`` is not floating, ``targets`` is complex or a
        hyper-parameter is no number.
    ValueError
        If the shapes differ, a target is outside [0, 1] or NaN (not checked in traced code), a
        hyper-parameter is outside its range or not finite, or ``reduction`` is another word.

    Notes
    -----
    *Accuracy.* While the coefficients are not negative, the value and the gradient for targets 0
    and 1 have a relative error below 1e-13 in float64 and 2e-6 in float32 wherever they are
    normal numbers, times :math:`1 + (\gamma_- + 1) p / |p - p_{th}|` for negatives, as the
    threshold is a difference of probabilities. float16 and bfloat16 are computed in float32.

    *At the threshold.* A negative with :math:`p \le p_{th}` has loss and gradient 0. For
    :math:`\gamma_- = 0` the loss has a kink there, and the 0 at :math:`p_{th}` is its derivative
    from the left.

    *Speed.* Value and gradient come from one pass, which keeps one tensor. It is quickest where
    few negatives are above the threshold: the others cost a comparison. Code traced by
    `torch.compile`, transforms of `torch.func`, second derivatives and gradients of the targets
    take the plain formula, in which every derivative exists.

    *Published code.* The authors' code takes ``1 - alpha1``, ``1 - 2 * alpha2`` and ``beta1 - 1`` as
    its coefficients. Its gradient is that of ``detach_focus=True``; its value has one term more,
    :math:`-(\beta_1 - 1) r^{\gamma_-}` for negatives, and it sums over everything.

    There is no weight argument: take ``reduction="none"``, multiply, and reduce.

    References
    ----------
    Huang, Qi, Wang and Lin, "Asymmetric polynomial loss for multi-label classification",
    ICASSP 2023, section 2.

    Examples
    --------
    >>> import torch
    >>> logits, targets = torch.tensor([2.0, 2.0, -4.0]), torch.tensor([1, 0, 0])
    >>> asymmetric_polynomial_loss(
    ...     logits, targets, alpha1=2.5, beta1=1.4, gamma_neg=2, p_th=0.05, reduction="none"
    ... )
    tensor([0.3057, 1.4557, 0.0000])
    """
    options = Polynomial(alpha1, alpha2, beta1, gamma_pos, gamma_neg, p_th, detach_focus)
    return _loss(logits, targets, options, reduction)


def asymmetric_loss(
    logits: Tensor,
    targets: Tensor,
    *,
    gamma_pos: float = 0.0,
    gamma_neg: float = 4.0,
    p_th: float = 0.05,
    detach_focus: bool = False,
    reduction: str = "mean",
) -> Tensor:
    r"""Asymmetric loss (ASL): focal loss with two exponents, and negatives that cost nothing.

    A target :math:`y` costs :math:`y q^{\gamma_+} (-\log p) + (1 - y) r^{\gamma_-} (-\log(1 - r))`
    with :math:`p = \sigma(z)`, :math:`q = 1 - p` and :math:`r = \max(p - p_{th}, 0)`. It is
    `logitlib.losses.asymmetric_polynomial_loss` with the coefficients of the logarithm.

    Parameters
    ----------
    logits : Tensor, shape (...), floating
        Log-odds in nats. Infinite ones are limits.
    targets : Tensor, same shape, floating, integer or bool
        Probabilities in [0, 1] that the label is present, most often 0 or 1.
    gamma_pos, gamma_neg : float
        Focusing exponents :math:`\gamma_+, \gamma_- \ge 0`.
    p_th : float
        Probability margin in [0, 1), up to which a negative costs nothing.
    detach_focus : bool
        Let no gradient through the focusing factors; the value stays.
    reduction : {"mean", "sum", "none"}
        "mean" averages over every element, not over rows, and is NaN over nothing. The published
        code sums.

    Returns
    -------
    Tensor
        Of the dtype of ``logits``; a scalar, or the shape of ``logits`` for "none".

    Raises
    ------
    TypeError, ValueError
        As `logitlib.losses.asymmetric_polynomial_loss`.

    Notes
    -----
    Accuracy, speed and the derivative at the threshold are those of
    `logitlib.losses.asymmetric_polynomial_loss`. A logit says less than the log-odds here: what
    probability it stands for is `logitlib.losses.apl_posterior`.

    References
    ----------
    Ridnik, Ben-Baruch, Zamir, Noy, Friedman, Protter and Zelnik-Manor, "Asymmetric loss for
    multi-label classification", ICCV 2021, section 2.

    Examples
    --------
    >>> import torch
    >>> logits, targets = torch.tensor([2.0, 2.0, -4.0]), torch.tensor([1, 0, 0])
    >>> asymmetric_loss(logits, targets, gamma_neg=2, reduction="none")
    tensor([0.1269, 1.2263, 0.0000])
    """
    options = Polynomial(
        gamma_pos=gamma_pos, gamma_neg=gamma_neg, p_th=p_th, detach_focus=detach_focus
    )
    return _loss(logits, targets, options, reduction)


def focal_loss(
    logits: Tensor,
    targets: Tensor,
    *,
    gamma: float = 2.0,
    alpha: float | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""Focal loss: cross-entropy times the probability of the wrong answer, to a power.

    With :math:`p = \sigma(z)` a target of 1 costs :math:`(1 - p)^\gamma (-\log p)`, a target of 0
    :math:`p^\gamma (-\log(1 - p))`, times :math:`\alpha` and :math:`1 - \alpha` if ``alpha`` is
    given; soft targets average the two.

    Parameters
    ----------
    logits : Tensor, shape (...), floating
        Log-odds in nats. Infinite ones are limits.
    targets : Tensor, same shape, floating, integer or bool
        Probabilities in [0, 1] that the label is present, most often 0 or 1.
    gamma : float
        Focusing exponent :math:`\gamma \ge 0`; 0 is binary cross-entropy.
    alpha : float or None
        Weight in [0, 1] of positives, with :math:`1 - \alpha` for negatives. None, the default,
        weights neither; the paper's own default is .25, and so is torchvision's.
    reduction : {"mean", "sum", "none"}
        "mean" averages over every element; it is NaN over nothing.

    Returns
    -------
    Tensor
        Of the dtype of ``logits``; a scalar, or the shape of ``logits`` for "none".

    Raises
    ------
    TypeError, ValueError
        As `logitlib.losses.asymmetric_polynomial_loss`.

    Notes
    -----
    No epsilon and no clamp: value and derivatives keep their digits at both ends, also for
    :math:`0 < \gamma < 1`, where the derivative of a power is infinite at 0 and that of the loss
    is not.

    References
    ----------
    Lin, Goyal, Girshick, He and Dollár, "Focal loss for dense object detection", ICCV 2017,
    equations 4 and 5.

    Examples
    --------
    >>> import torch
    >>> logits, targets = torch.tensor([0.0, 3.0, 3.0]), torch.tensor([1, 1, 0])
    >>> focal_loss(logits, targets, reduction="none")
    tensor([1.7329e-01, 1.0928e-04, 2.7663e+00])
    """
    positive, negative = 1.0, 1.0
    if alpha is not None:
        check_number("alpha", alpha, "a number with 0 <= alpha <= 1", lambda x: 0 <= x <= 1)
        positive, negative = alpha, 1 - alpha
    check_number("gamma", gamma, "a finite number >= 0", lambda x: 0 <= x < float("inf"))
    options = Polynomial(gamma_pos=gamma, gamma_neg=gamma, weight_pos=positive, weight_neg=negative)
    return _loss(logits, targets, options, reduction)


def _loss(logits: Tensor, targets: Tensor, options: Polynomial, reduction: str) -> Tensor:
    check_reduction(reduction)
    z, t = check_probabilities(logits, targets)
    if fusable(z, t):
        return fused(z, t, options, reduction).to(logits.dtype)
    return reduce(elementwise(z, t, options), reduction, logits.dtype)
