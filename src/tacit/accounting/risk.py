"""What a loss means for one person: how far an attacker can come who knows all the others.

The attacker sees everything released and asks whether one person's data was used. No number
here speaks of what the data says about people in general: that is learned with or without them.
Everything is rounded toward more risk.
"""

from fractions import Fraction
from math import erfc, inf, nextafter, sqrt

from tacit.accounting.convert import convert
from tacit.core import Loss, Measure
from tacit.errors import InvalidValue
from tacit.numeric import ceil_to, exp_bounds, plain, sqrt_bounds

NO_DELTA = Fraction(0)

DELTAS = [Fraction(part, 10**digits) for digits in range(1, 13) for part in (1, 2, 5)]
"""At which a loss in rho is converted, to find the best bound."""

MARGIN = 1e-12
"""Relative room for the rounding of 64-bit floats."""


def posterior(prior: Fraction, epsilon: Fraction, delta: Fraction = NO_DELTA) -> Fraction:
    """How sure an attacker can become of what they held for true with probability ``prior``.

    Guarantee: without delta no release ever takes anyone further. With delta the bound is on
    average over the noise: with probability delta a release may tell everything, and otherwise
    takes nobody beyond the figure without delta.
    Reference: Kasiviswanathan, Smith 2014, definition 1.1, by Bayes; with delta, Kairouz, Oh,
    Viswanath 2015, theorem 3.1 (a mixture of telling all and of randomised response).

    Example:
        >>> round(float(posterior(Fraction(1, 100), Fraction(1))), 4)
        0.0267
    """
    _is_probability(prior=prior, delta=delta)
    odds = prior * _power(epsilon)
    return delta + (1 - delta) * odds / (odds + 1 - prior)


def advantage(epsilon: Fraction, delta: Fraction = NO_DELTA) -> Fraction:
    """The most by which hits exceed false alarms, for the best attacker: a total variation.

    It is delta + (1 - delta) * tanh(epsilon / 2), and an attacker with even odds guesses right
    with probability (1 + advantage) / 2.
    Reference: Kairouz, Oh, Viswanath 2015, theorem 3.1.

    Example:
        >>> round(float(advantage(Fraction(1))), 4)
        0.4621
    """
    _is_probability(delta=delta)
    power = _power(epsilon)
    return delta + (1 - delta) * (power - 1) / (power + 1)


def best_auc(epsilon: Fraction, delta: Fraction = NO_DELTA) -> Fraction:
    """The area under the best attacker's curve of hits against false alarms; a half is a guess.

    Out of two people, one whose data was used and one whose data was not, the attacker tells
    which is which with this probability: exp(epsilon) / (1 + exp(epsilon)), or more with delta,
    where either may be told outright.

    Example:
        >>> round(float(best_auc(Fraction(1))), 4)
        0.7311
    """
    _is_probability(delta=delta)
    power = _power(epsilon)
    return 1 - (1 - delta) ** 2 / (1 + power)


def gaussian_advantage(mu: Fraction) -> Fraction:
    """The same as `advantage` for real Gaussian noise, ``mu`` = sensitivity / scale.

    Reference: Dong, Roth, Su 2022, section 2.

    Example:
        >>> round(float(gaussian_advantage(Fraction(1))), 4)
        0.3829
    """
    return 2 * _normal(mu / 2) - 1


def gaussian_auc(mu: Fraction) -> Fraction:
    """The same as `best_auc` for real Gaussian noise: the normal law at mu / sqrt(2).

    Example:
        >>> round(float(gaussian_auc(Fraction(1))), 4)
        0.7602
    """
    return _normal(sqrt_bounds(mu**2 / 2)[1])


def in_words(loss: Loss, prior: Fraction) -> str:
    """One sentence that can be published, for people who read no epsilon.

    A loss in rho has a delta at every epsilon, and each gives a bound: the least is told.

    Example:
        >>> for line in in_words(Loss.pure(1), Fraction(1, 100)).split(", "):
        ...     print(line)
        Whoever sees all that was released and knows everyone else's data
        and thought it 1% likely that one person's data was used
        can now think it at most 2.68% likely
        and tells that person from one whose data was not used in at most 73.2 of 100 tries
        where guessing succeeds in 50.
    """
    points = _points(loss)
    belief = min(posterior(prior, epsilon, delta) for epsilon, delta in points)
    tries = min(best_auc(epsilon, delta) for epsilon, delta in points)
    # with a delta, what is bounded is the average over the noise
    average = "" if loss.measure is Measure.PURE else " on average"
    lost = f", may learn all with a probability of {plain(loss.delta)} at most" * bool(
        loss.delta
    )
    return (
        "Whoever sees all that was released and knows everyone else's data, and thought it "
        f"{plain(100 * prior)}% likely that one person's data was used, can now think it at "
        f"most {_percent(belief, Fraction(1, 100))}% likely{average}{lost}, and tells that "
        "person from one whose data was not used in at most "
        f"{_percent(tries, Fraction(1, 10))} of 100 tries, where guessing succeeds in 50."
    )


def _points(loss: Loss) -> list[tuple[Fraction, Fraction]]:
    """Pairs of epsilon and delta, all of which the loss implies."""
    if loss.measure is not Measure.ZCDP:
        return [(loss.amount, loss.delta)]
    converted = [convert(loss, Measure.APPROXIMATE, delta) for delta in DELTAS]
    return [(point.amount, min(point.delta, Fraction(1))) for point in converted]


def _power(epsilon: Fraction) -> Fraction:
    """The exponential of epsilon, rounded up."""
    return exp_bounds(epsilon)[1] if epsilon else Fraction(1)


def _percent(risk: Fraction, unit: Fraction) -> str:
    """A probability in percent, rounded up to a multiple of ``unit``."""
    return plain(min(ceil_to(100 * risk, unit), Fraction(100)))


def _normal(value: Fraction) -> Fraction:
    """The probability that a standard normal variable is at most ``value``, rounded up."""
    near = erfc(-nextafter(float(value), inf) / sqrt(2)) / 2
    return min(Fraction(1), Fraction(near * (1 + MARGIN)))


def _is_probability(**values: Fraction) -> None:
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise InvalidValue(f"{name} lies in [0, 1], and {value} does not.")
