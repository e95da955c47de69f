"""The meaning of a privacy loss for one person, as the success of a membership attack.

The attacker knows the data of all other people, sees everything that was released, and wants to
find out whether one person's data was used. The numbers are not about facts that the data shows
about people in general: these can be learned with or without that person's data. All results
are rounded toward more risk.
"""

from fractions import Fraction
from math import erfc, inf, nextafter, sqrt

from tacit.accounting.convert import convert
from tacit.core import Loss, Measure
from tacit.errors import InvalidValue
from tacit.numeric import ceil_to, exp_bounds, plain, sqrt_bounds

NO_DELTA = Fraction(0)

DELTAS = [Fraction(part, 10**digits) for digits in range(1, 13) for part in (1, 2, 5)]
"""The deltas at which a loss in rho is converted, in order to find the best bound."""

MARGIN = 1e-12
"""Relative margin for the rounding of 64-bit floats."""


def posterior(prior: Fraction, epsilon: Fraction, delta: Fraction = NO_DELTA) -> Fraction:
    """Return the largest posterior probability of an attacker's hypothesis with this ``prior``.

    Guarantee: without delta, the bound holds for every release. With delta, it holds on average
    over the noise: with probability delta a release may reveal everything, and otherwise the
    posterior is at most the bound without delta.
    Reference: Kasiviswanathan, Smith 2014, definition 1.1, by Bayes; with delta, Kairouz, Oh,
    Viswanath 2015, theorem 3.1 (a mixture of revealing everything and of randomised response).

    Example:
        >>> round(float(posterior(Fraction(1, 100), Fraction(1))), 4)
        0.0267
    """
    _is_probability(prior=prior, delta=delta)
    odds = prior * _power(epsilon)
    return delta + (1 - delta) * odds / (odds + 1 - prior)


def advantage(epsilon: Fraction, delta: Fraction = NO_DELTA) -> Fraction:
    """Return the largest true-positive rate minus false-positive rate of any attacker.

    This total variation distance is delta + (1 - delta) * tanh(epsilon / 2). An attacker with a
    prior of 1/2 is right with probability (1 + advantage) / 2.
    Reference: Kairouz, Oh, Viswanath 2015, theorem 3.1.

    Example:
        >>> round(float(advantage(Fraction(1))), 4)
        0.4621
    """
    _is_probability(delta=delta)
    power = _power(epsilon)
    return delta + (1 - delta) * (power - 1) / (power + 1)


def best_auc(epsilon: Fraction, delta: Fraction = NO_DELTA) -> Fraction:
    """Return the area under the ROC curve of the best attacker; 1/2 is random guessing.

    Given two releases, one with a person's data and one without, the attacker finds out which
    is which with this probability. It is exp(epsilon) / (1 + exp(epsilon)) without delta, and
    more with delta, because either release may then reveal it. It does not bound a choice
    between two people of whom one took part: this needs the loss of an `exchange`.

    Example:
        >>> round(float(best_auc(Fraction(1))), 4)
        0.7311
    """
    _is_probability(delta=delta)
    power = _power(epsilon)
    return 1 - (1 - delta) ** 2 / (1 + power)


def exchange(epsilon: Fraction, delta: Fraction = NO_DELTA) -> tuple[Fraction, Fraction]:
    """Return the epsilon and delta for the exchange of one person for another.

    An exchange is a removal and an addition, so that its epsilon is twice that of one of them,
    and its delta is (1 + exp(epsilon)) * delta. Another value of one person is an exchange too.
    Reference: Vadhan 2017, lemma 2.2 (group privacy).

    Example:
        >>> round(float(best_auc(*exchange(Fraction(1)))), 4)
        0.8808
    """
    _is_probability(delta=delta)
    return 2 * epsilon, min(Fraction(1), (1 + _power(epsilon)) * delta)


def gaussian_advantage(mu: Fraction) -> Fraction:
    """Return the `advantage` for continuous Gaussian noise, ``mu`` = sensitivity / scale.

    Reference: Dong, Roth, Su 2022, section 2.

    Example:
        >>> round(float(gaussian_advantage(Fraction(1))), 4)
        0.3829
    """
    return 2 * _normal(mu / 2) - 1


def gaussian_auc(mu: Fraction) -> Fraction:
    """Return the `best_auc` for continuous Gaussian noise: the normal CDF at mu / sqrt(2).

    Example:
        >>> round(float(gaussian_auc(Fraction(1))), 4)
        0.7602
    """
    return _normal(sqrt_bounds(mu**2 / 2)[1])


def in_words(loss: Loss, prior: Fraction) -> str:
    """Return a sentence about the risk that can be published, for readers without statistics.

    A loss in rho has a delta for every epsilon, and each pair gives a bound; the sentence has
    the best of them.

    Example:
        >>> for line in in_words(Loss.pure(1), Fraction(1, 100)).split(", "):
        ...     print(line)
        An attacker who sees all releases and knows everyone else's data
        and who thought it 1% likely that one person's data was used
        can now think it at most 2.68% likely
        and can tell a release with that person from one without in at most 73.2 of 100 tries
        where guessing succeeds in 50.
    """
    points = _points(loss)
    belief = min(posterior(prior, epsilon, delta) for epsilon, delta in points)
    tries = min(best_auc(epsilon, delta) for epsilon, delta in points)
    # with a delta, the bound is on the average over the noise
    average = "" if loss.measure is Measure.PURE else " on average"
    lost = f", may learn everything with a probability of at most {plain(loss.delta)}" * bool(
        loss.delta
    )
    return (
        "An attacker who sees all releases and knows everyone else's data, and who thought it "
        f"{plain(100 * prior)}% likely that one person's data was used, can now think it at "
        f"most {_percent(belief, Fraction(1, 100))}% likely{average}{lost}, and can "
        "tell a release with that person from one without in at most "
        f"{_percent(tries, Fraction(1, 10))} of 100 tries, where guessing succeeds in 50."
    )


def _points(loss: Loss) -> list[tuple[Fraction, Fraction]]:
    """Return pairs of epsilon and delta, all of which the loss implies."""
    if loss.measure is not Measure.ZCDP:
        return [(loss.amount, loss.delta)]
    converted = [convert(loss, Measure.APPROXIMATE, delta) for delta in DELTAS]
    return [(point.amount, min(point.delta, Fraction(1))) for point in converted]


def _power(epsilon: Fraction) -> Fraction:
    """Return the exponential of epsilon, rounded up."""
    return exp_bounds(epsilon)[1] if epsilon else Fraction(1)


def _percent(risk: Fraction, unit: Fraction) -> str:
    """Return a probability in percent, rounded up to a multiple of ``unit``."""
    return plain(min(ceil_to(100 * risk, unit), Fraction(100)))


def _normal(value: Fraction) -> Fraction:
    """Return the standard normal CDF at ``value``, rounded up."""
    near = erfc(-nextafter(float(value), inf) / sqrt(2)) / 2
    return min(Fraction(1), Fraction(near * (1 + MARGIN)))


def _is_probability(**values: Fraction) -> None:
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise InvalidValue(f"{name} must be in [0, 1], and {value} is not.")
