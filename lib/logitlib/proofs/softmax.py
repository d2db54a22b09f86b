r"""Softmax of indexed logits, for an unspecified number of labels.

Symbols that the chapters share: the number of labels ``n``, the logits ``a[1], ..., a[n]``, the
probabilities ``p[m]`` that stand for :math:`e^{a_m} / \sum_i e^{a_i}`, targets ``t[m]``, a vector
``v[m]``, and the labels ``j``, ``m`` and ``y``. Sums run over ``i``, so ``i`` is never a label.

A statement proved with these holds for every n: nothing here ever gives n a value.
"""

import sympy as sp

n = sp.Symbol("n", integer=True, positive=True)
i, j, m, y = sp.symbols("i j m y", integer=True)
a = sp.IndexedBase("a", real=True)
p = sp.IndexedBase("p", positive=True)
t = sp.IndexedBase("t", real=True)
v = sp.IndexedBase("v", real=True)


def total(term: sp.Expr) -> sp.Sum:
    r"""Sum of a term over all labels, :math:`\sum_{i=1}^{n}` of an expression in ``i``.

    Examples
    --------
    >>> total(a[i])
    Sum(a[i], (i, 1, n))
    """
    return sp.Sum(term, (i, 1, n))


def probability(label: sp.Expr) -> sp.Expr:
    r"""Softmax probability of a label, :math:`e^{a_m} / \sum_{i=1}^{n} e^{a_i}`.

    Examples
    --------
    >>> probability(m)
    exp(a[m])/Sum(exp(a[i]), (i, 1, n))
    """
    return sp.exp(a[label]) / total(sp.exp(a[i]))


def derivative(expression: sp.Expr, label: sp.Symbol) -> sp.Expr:
    r"""Partial derivative in the logit of a label, :math:`\partial / \partial a_m`.

    Parameters
    ----------
    expression : sympy expression in ``a``
    label : sympy symbol other than ``i``
        Taken to be one of the labels, :math:`1 \le m \le n`.

    Returns
    -------
    sympy expression

    Raises
    ------
    ValueError
        If ``label`` is the summation index ``i``.

    Examples
    --------
    >>> derivative(sp.log(total(sp.exp(a[i]))) - a[y], j)
    exp(a[j])/Sum(exp(a[i]), (i, 1, n)) - KroneckerDelta(j, y)
    """
    if label == i:
        raise ValueError("label must differ from i, over which the sums run; use j, m or y")
    return resolve(sp.diff(expression, a[label]), label)


def resolve(expression: sp.Expr, *labels: sp.Symbol) -> sp.Expr:
    r"""Carry out the sums over a Kronecker delta, for indices that are labels.

    SymPy keeps the case that an index lies outside the sum, where the sum would be 0. Here each
    of ``labels`` is one of the labels: :math:`1 \le m \le n` is replaced by true.

    Examples
    --------
    >>> resolve(total(a[i] * sp.KroneckerDelta(i, y)), y)
    a[y]
    """
    facts = [fact for label in labels for fact in (label >= 1, label <= n, n >= label)]
    return expression.doit().subs(dict.fromkeys(facts, True))


def linear(expression: sp.Expr) -> sp.Expr:
    """Expand, split sums of sums, and take out of each sum what does not depend on ``i``.

    Examples
    --------
    >>> linear(total(j * a[i] + 2 * v[i]))
    j*Sum(a[i], (i, 1, n)) + 2*Sum(v[i], (i, 1, n))
    """

    def split(sum_: sp.Sum) -> sp.Expr:
        terms = sp.Add.make_args(sp.expand(sum_.function))
        return sp.Add(*(sp.factor_terms(sp.Sum(term, *sum_.limits)) for term in terms))

    return sp.expand(sp.expand(expression).replace(lambda e: isinstance(e, sp.Sum), split))


def in_probabilities(expression: sp.Expr) -> sp.Expr:
    r"""Write ``p[m]`` for :math:`e^{a_m} / \sum_i e^{a_i}`, then expand as :func:`linear` does.

    Examples
    --------
    >>> in_probabilities(derivative(probability(m), j))
    KroneckerDelta(j, m)*p[m] - p[j]*p[m]
    """
    partition, z = total(sp.exp(a[i])), sp.Dummy("z", positive=True)

    def rewrite(exponential: sp.Expr) -> sp.Expr:
        logits = [part for part in exponential.exp.atoms(sp.Indexed) if part.base == a]
        powers = ((p[x.indices[0]] * z) ** sp.expand(exponential.exp).coeff(x) for x in logits)
        rest = exponential.exp.subs(dict.fromkeys(logits, 0))
        return sp.Mul(sp.exp(rest), *powers)

    scaled = expression.subs(partition, z).replace(lambda e: isinstance(e, sp.exp), rewrite)
    # where the exponentials are not matched by the sum, z survives: give the sum back
    return linear(scaled).subs(z, partition)


def shifted(expression: sp.Expr, by: sp.Expr) -> sp.Expr:
    """The expression with the same number added to every logit, expanded as :func:`linear` does.

    Examples
    --------
    >>> b = sp.Symbol("b", real=True)
    >>> shifted(total(sp.exp(a[i])), b)
    exp(b)*Sum(exp(a[i]), (i, 1, n))
    """
    label = sp.Wild("label")
    return linear(expression.replace(a[label], a[label] + by))
