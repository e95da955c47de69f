"""The meaning of a privacy loss for one person, as the success of a membership attack.

The attacker knows the data of all other people, sees everything that was released, and wants to
find out whether one person's data was used. The numbers are not about facts that the data shows
about people in general: these can be learned with or without that person's data. All results
are rounded toward more risk.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import erfc, inf, nextafter, sqrt
from typing import Any

from tacit.accounting.loss_pairs import is_coarse
from tacit.accounting.pricing import leaves
from tacit.accounting.trade_off import TradeOff, curve_of_event, curve_of_loss, curve_of_mu
from tacit.accounting.trade_off import check_probability as _is_probability
from tacit.core import Event, Loss, Measure
from tacit.numeric import ceil_to, exp_bounds, plain, sqrt_bounds

NO_DELTA = Fraction(0)

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


FALSE_POSITIVE = Fraction(1, 100)
"""The false-positive rate at which a true-positive rate is given."""


@dataclass(frozen=True, slots=True)
class AttackOdds:
    """The meaning of a loss for one person, as figures for readers without statistics.

    ``belief`` is what an attacker with the belief ``prior`` can think at most, and an average
    over the noise unless the loss is pure. ``pairs`` is the share of pairs of releases, one
    with the person and one without, in which the best attacker picks the right one. ``found``
    is the share of participants that an attacker finds who accuses the share ``false_positive``
    of those who did not take part. ``mu`` is that of Gaussian differential privacy, if all
    noise is Gaussian.

    Example:
        >>> odds = odds_of(Loss.pure(1), Fraction(1, 100))
        >>> [round(float(100 * each), 2) for each in (odds.belief, odds.pairs, odds.found)]
        [2.67, 73.11, 2.72]
    """

    prior: Fraction
    belief: Fraction
    pairs: Fraction
    found: Fraction
    false_positive: Fraction = FALSE_POSITIVE
    delta: Fraction = NO_DELTA
    """The probability with which everything may be revealed; it is part of the figures."""
    average: bool = False
    """Whether the belief is an average over the noise."""
    mu: Fraction | None = None

    def __str__(self) -> str:
        average = " on average" * self.average
        found = _percent(self.found, Fraction(1, 10))
        lost = (
            f", may learn everything with a probability of at most {plain(self.delta)}"
            if self.delta
            else ""
        )
        return (
            "An attacker who sees all releases and knows everyone else's data, and who thought "
            f"it {plain(100 * self.prior)}% likely that one person's data was used, can now "
            f"think it at most {_percent(self.belief, Fraction(1, 100))}% "
            f"likely{average}{lost}, and can tell a release with that person from one without "
            f"in at most {_percent(self.pairs, Fraction(1, 10))} of 100 tries, where guessing "
            f"succeeds in 50. If the attacker accuses {plain(100 * self.false_positive)} of "
            f"100 people who did not take part, at most {found} of 100 who did are found."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as text for JSON; they are rounded up."""
        return {
            "prior": plain(self.prior),
            "posterior_at_most": plain(ceil_to(self.belief, FIGURE)),
            "posterior_is_average": self.average,
            "auc_at_most": plain(ceil_to(self.pairs, FIGURE)),
            "false_positive_rate": plain(self.false_positive),
            "true_positive_rate_at_most": plain(ceil_to(self.found, FIGURE)),
            "delta": plain(self.delta),
            "gdp_mu": None if self.mu is None else plain(self.mu),
        }


FIGURE = Fraction(1, 10**6)
"""Step to which a figure is rounded up."""


def odds_of(
    loss: Loss, prior: Fraction, false_positive: Fraction = FALSE_POSITIVE
) -> AttackOdds:
    """Return the odds of everything that is ever released within ``loss``.

    Guarantee: they hold for every mechanism, and every adaptive sequence of them, with this
    loss. Some mechanism reaches each true-positive rate, so that no smaller rate can be
    promised. They have no mu: nobody knows which noise will be used.
    """
    _is_probability(prior=prior, false_positive=false_positive)
    curve = curve_of_loss(loss)
    average = loss.measure is not Measure.PURE
    # under pure and approximate differential privacy, the belief is bounded in each release
    # (with probability 1 - delta), which says more than an average
    belief = (
        curve.belief(prior)
        if loss.measure is Measure.ZCDP
        else posterior(prior, loss.amount, min(loss.delta, Fraction(1)))
    )
    return AttackOdds(
        prior,
        belief,
        curve.pairs,
        curve.true_positive_rate(false_positive),
        false_positive,
        loss.delta,
        average,
    )


def odds_of_event(
    event: Event, loss: Loss, prior: Fraction, false_positive: Fraction = FALSE_POSITIVE
) -> AttackOdds:
    """Return the odds of releases that were made, by their ``event`` and its ``loss``.

    They are not above those of the loss, because the loss bounds the event as well. They say
    nothing about releases that follow. If all noise of the event is Gaussian, they have a mu,
    and are read off its curve alone: it is the lower one, because the curve of a rho is that
    of the best attacker on every mechanism with this rho, of which this noise is one.
    """
    _is_probability(prior=prior, false_positive=false_positive)
    curve = curve_of_event(event)
    by_mu = curve.mu is not None and not any(is_coarse(leaf) for leaf, _ in leaves(event))
    if not by_mu or loss.measure is not Measure.ZCDP:
        return _least(odds_of(loss, prior, false_positive), curve)
    return _of_curve(curve, loss, prior, false_positive)


def _of_curve(
    curve: TradeOff, loss: Loss, prior: Fraction, false_positive: Fraction
) -> AttackOdds:
    return AttackOdds(
        prior,
        curve.belief(prior),
        curve.pairs,
        curve.true_positive_rate(false_positive),
        false_positive,
        loss.delta,
        average=True,
        mu=curve.mu,
    )


def odds_of_mu(
    mu: Fraction, loss: Loss, prior: Fraction, false_positive: Fraction = FALSE_POSITIVE
) -> AttackOdds:
    """Return the odds of releases that were made, all with Gaussian noise, by their ``mu``.

    Example:
        >>> odds = odds_of_mu(Fraction(1), Loss.zcdp("0.5"), Fraction(1, 10))
        >>> round(float(odds.pairs), 4)
        0.7603
    """
    curve = curve_of_mu(mu)
    if loss.measure is Measure.ZCDP:
        return _of_curve(curve, loss, prior, false_positive)
    return _least(odds_of(loss, prior, false_positive), curve)


def _least(bounded: AttackOdds, curve: TradeOff) -> AttackOdds:
    """Return odds that are bounded by other odds and by a curve, both of which hold."""
    belief = bounded.belief
    if bounded.average:
        belief = min(belief, curve.belief(bounded.prior))
    return replace(
        bounded,
        belief=belief,
        pairs=min(bounded.pairs, curve.pairs),
        found=min(bounded.found, curve.true_positive_rate(bounded.false_positive)),
        mu=curve.mu,
    )


def in_words(loss: Loss, prior: Fraction) -> str:
    """Return sentences about the risk that can be published, for readers without statistics.

    Example:
        >>> for line in in_words(Loss.pure(1), Fraction(1, 100)).split(", ")[:4]:
        ...     print(line)
        An attacker who sees all releases and knows everyone else's data
        and who thought it 1% likely that one person's data was used
        can now think it at most 2.68% likely
        and can tell a release with that person from one without in at most 73.2 of 100 tries
    """
    return str(odds_of(loss, prior))


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
