"""The zCDP loss of pure mechanisms: the least rho of each, rounded up.

A mechanism satisfies rho-zCDP if the Renyi divergence of every order a > 1 between its outputs
on two neighbours is at most a * rho. With pure epsilon, rho = epsilon**2 / 2 is always enough,
and most mechanisms need less. The least rho is never below the Kullback-Leibler divergence,
which is the limit a -> 1. For the mechanisms below it is that divergence, by one lemma:

    Let P and Q be two distributions that a reflection exchanges. Then, with a = 1/2 + t,

        exp((a - 1) * D_a(P, Q)) = M(t) = sum of sqrt(P * Q) * cosh(t * log(P / Q))

    is an even function of t. If all its zeros are imaginary, it is a product of factors
    1 + t**2 / b**2. So log(M) is a concave function of u = t**2. It is 0 at u = 1/4, where
    a = 1, and its derivative there is KL(P, Q). A concave function lies below its tangent:

        (a - 1) * D_a(P, Q) <= KL(P, Q) * (t**2 - 1/4) = KL(P, Q) * a * (a - 1).

Where the zeros lie depends on the mechanism. The proofs are in ``docs/privacy/curves.md``, and
`tests/unit/accounting/test_concentrated_loss.py` computes the divergences to 60 digits.
"""

from fractions import Fraction

from tacit.numeric import exp_bounds, log_bounds, sqrt_bounds

ZERO = Fraction(0)


def pure_rho(epsilon: Fraction) -> Fraction:
    """Return a rho of every mechanism that has pure ``epsilon``: epsilon * tanh(epsilon / 2).

    It is the Kullback-Leibler divergence of randomised response between two answers. Every
    other mechanism with the same epsilon is post-processing of it, and cannot lose more.

    Guarantee: the result is never below the exact value, and at most epsilon**2 / 2.
    Reference: Kairouz, Oh, Viswanath 2015, theorem 3.1 (post-processing); the lemma above, with
    M(t) = cosh(t * epsilon) / cosh(epsilon / 2).

    Example:
        >>> round(float(pure_rho(Fraction(1))), 6)
        0.462117
    """
    lost = exp_bounds(-epsilon)[0]
    # tanh(x / 2) = (1 - exp(-x)) / (1 + exp(-x)); where digits are not enough, x / 2 is smaller
    return min(epsilon * (1 - lost) / (1 + lost), epsilon**2 / 2)


def laplace_rho(sensitivity: Fraction, scale: Fraction) -> Fraction:
    """Return the rho of discrete Laplace noise on integers of an L1 sensitivity.

    With epsilon = sensitivity / scale, it is

        epsilon - (1 - exp(-epsilon)) / (scale * sinh(1 / scale)),

    which tends to epsilon - 1 + exp(-epsilon) for a large scale. For sensitivity 1 it is that
    of randomised response, because the privacy loss of one step is epsilon or -epsilon.

    The sensitivity may be spread over several integers: the expression is a convex function of
    the sensitivity and 0 at 0, so that the sum of its values is at most the value of the sum.

    Guarantee: the result is never below the exact value, and at most `pure_rho`. A sensitivity
    that is not an integer gets `pure_rho`, because the proof is about moves by integers.

    Example:
        >>> round(float(laplace_rho(Fraction(100), Fraction(100))), 6)
        0.36789
        >>> round(float(laplace_rho(Fraction(1), Fraction(1))), 6)
        0.462117
    """
    epsilon, rate = sensitivity / scale, 1 / scale
    generic = pure_rho(epsilon)
    if sensitivity.denominator != 1:
        return generic
    # rate / sinh(rate) = 2 * rate * q / (1 - q**2) with q = exp(-rate), which increases with q,
    # and it is at least 1 - rate**2 / 6; the first bound needs more digits for a small rate
    low = exp_bounds(-rate)[0]
    share = max(1 - rate**2 / 6, 2 * rate * low / (1 - low**2))
    return min(epsilon - (1 - exp_bounds(-epsilon)[1]) * share, generic)


def response_rho(truth: Fraction, choices: int) -> Fraction:
    """Return the rho of randomised response with ``choices`` answers.

    With epsilon = log(odds), where ``odds`` = truth / lie and ``lie`` is the probability of
    each other answer, it is epsilon * (truth - lie), the Kullback-Leibler divergence, up to
    2 + 2 * sqrt(odds) choices. For more choices, the divergence of a larger order decides, and
    epsilon * tanh(epsilon / 4) is an upper bound for every number of choices.

    Guarantee: the result is never below the exact value, and at most that of two choices.

    Example:
        >>> round(float(response_rho(Fraction(2, 3), 2)), 6)
        0.231049
        >>> round(float(response_rho(Fraction(1, 2), 5)), 6)
        0.51986
    """
    lie = (1 - truth) / (choices - 1)
    odds = truth / lie
    if odds <= 1:
        return ZERO
    epsilon, root = log_bounds(odds)[1], sqrt_bounds(odds)[1]
    # tanh(epsilon / 4) = (sqrt(odds) - 1) / (sqrt(odds) + 1), which increases with the root
    return min(epsilon * max(truth - lie, (root - 1) / (root + 1)), epsilon**2 / 2)
