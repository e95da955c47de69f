"""Trade-off curves: how well the best attacker finds out whether a person took part.

An attacker tests "this person took part" on everything that was released. Each test has a
*false-positive rate*, the share of people who did not take part and are accused, and a
*true-positive rate*, the share of those who did and are found. A `TradeOff` bounds the
true-positive rate of every test at every false-positive rate (the ROC curve of the best
attacker). All figures about a loss are read off such a curve.

There are two ways to a curve:

* `curve_of_loss` needs the loss alone, and so holds for a cap, whatever will be asked. Under
  pure and approximate differential privacy it is the curve of randomised response. Under zCDP,
  a test with the rates (x, y) is itself a mechanism with two outputs, whose Rényi divergences
  are bounded by the loss. The largest y that they allow is the curve. No smaller one is true,
  because that mechanism has the loss.
* `curve_of_event` needs the event, and is tighter. Each leaf has a *dominating pair*: two
  distributions whose curve is not below that of any two neighbours. Dominating pairs compose by
  adding up independent privacy losses, so that a convolution of loss distributions gives the
  curve of the whole event. Losses are rounded up to a grid, so that the curve only rises.

Curves are computed in 64-bit floats. Margins far above their rounding errors are added, and
what is read off a curve is rounded up.

References: Kairouz, Oh, Viswanath 2015 (randomised response); Balle, Barthe, Gaboardi, Hsu,
Sato 2020 (tests as mechanisms); Zhu, Dong, Wang 2022 (dominating pairs, samples); Dong, Roth,
Su 2022 (Gaussian differential privacy); Dong, Durfee, Rogers 2020 (bounded range).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import erfc, exp, sqrt

import numpy as np
from numpy.typing import NDArray

from tacit import core
from tacit.accounting.gaussian_privacy import gaussian_mu
from tacit.accounting.loss_pairs import LossPair, is_coarse, pair_of
from tacit.accounting.pricing import leaves
from tacit.errors import InvalidValue
from tacit.numeric import ceil_to, exp_bounds

Floats = NDArray[np.float64]

RISK_UNIT = Fraction(1, 10**6)
"""Step to which a risk is rounded up."""

SLACK = 1e-10
"""Margin that is added to every rate; it is far above the errors of floats."""


@dataclass(frozen=True, slots=True, eq=False)
class TradeOff:
    """The largest true-positive rate at each false-positive rate: a concave chain of corners.

    ``false_positive`` and ``true_positive`` are the corners, in ascending order. The first has
    the rate that an attacker reaches without any false positive, and the last is (1, 1).

    Guarantee: no test of an attacker is above the chain.

    Example:
        >>> curve = curve_of_loss(core.Loss.pure(1))
        >>> curve.true_positive_rate(Fraction(1, 100)), curve.pairs
        (Fraction(27183, 1000000), Fraction(731059, 1000000))
    """

    false_positive: Floats
    true_positive: Floats
    mu: Fraction | None = field(default=None)
    """The mu of Gaussian differential privacy, if every event has Gaussian noise; else None."""

    @property
    def is_guess(self) -> bool:
        """Whether no attacker is better than one who guesses."""
        return bool(np.all(self.true_positive <= self.false_positive))

    def true_positive_rate(self, false_positive: Fraction) -> Fraction:
        """Return the largest share of participants found, at this false-positive rate."""
        check_probability(false_positive=false_positive)
        if self.is_guess:
            return false_positive
        rate = np.interp(float(false_positive), self.false_positive, self.true_positive)
        return max(_risk(float(rate)), min(ceil_to(false_positive, RISK_UNIT), Fraction(1)))

    @property
    def pairs(self) -> Fraction:
        """The area under the curve (AUC).

        Of two releases, one with a person's data and one without, the best attacker picks the
        one with it with at most this probability. It is 1/2 for guessing.
        """
        if self.is_guess:
            return Fraction(1, 2)
        widths = np.diff(self.false_positive)
        area = float(np.sum(widths * (self.true_positive[1:] + self.true_positive[:-1]) / 2))
        return max(_risk(area), Fraction(1, 2))

    @property
    def advantage(self) -> Fraction:
        """The largest true-positive rate minus false-positive rate: the total variation."""
        return _risk(float(np.max(self.true_positive - self.false_positive)))

    def belief(self, prior: Fraction) -> Fraction:
        """Return the largest average posterior probability of "took part", where that is true.

        ``prior`` is the attacker's probability before the release. The average is over the
        noise. A single release may convince more.
        """
        check_probability(prior=prior)
        if self.is_guess or prior in {0, 1}:
            return prior
        ratio = float(prior / (1 - prior))
        found = np.diff(self.true_positive, prepend=0.0)
        accused = np.diff(self.false_positive, prepend=0.0)
        odds = ratio * found
        parts = np.divide(
            odds, odds + accused, out=np.zeros_like(odds), where=odds + accused > 0
        )
        return max(
            _risk(float(np.sum(found * parts))), min(ceil_to(prior, RISK_UNIT), Fraction(1))
        )


def check_probability(**values: Fraction) -> None:
    """Raise for a value that is not a probability; the error names it."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise InvalidValue(f"{name} must be in [0, 1], and {value} is not.")


def _risk(value: float) -> Fraction:
    """Return a risk that was computed in floats, rounded up."""
    return min(Fraction(1), ceil_to(Fraction(max(0.0, value + SLACK)), RISK_UNIT))


# Curves of losses ----------------------------------------------------------------------------


@lru_cache(maxsize=128)
def curve_of_loss(loss: core.Loss) -> TradeOff:
    """Return the curve of every mechanism, and of every adaptive sequence, within ``loss``.

    Guarantee: no mechanism with this loss is above the curve, and every point of it is reached
    by one, up to rounding.

    Example:
        >>> float(
        ...     curve_of_loss(core.Loss.zcdp("0.5")).true_positive_rate(Fraction(1, 100))
        ... ) < 0.14
        True
    """
    if loss.measure is core.Measure.ZCDP:
        return _mixed_with_all(_of_rho(loss.amount), float(loss.delta))
    check_probability(delta=min(loss.delta, Fraction(1)))
    delta = float(min(loss.delta, Fraction(1)))
    power = _power(loss.amount)
    corner = (1 - delta) / (1 + power)
    middle = 1 - corner
    return TradeOff(
        np.array([0.0, corner, max(corner, 1 - delta), 1.0]),
        np.array([delta, middle, 1.0, 1.0]),
    )


def _power(epsilon: Fraction) -> float:
    """Return exp(epsilon), rounded up; at most the largest float's root."""
    if epsilon > LARGEST:
        return exp(LARGEST)
    return float(exp_bounds(epsilon)[1]) * (1 + SLACK) if epsilon else 1.0


LARGEST = 300
"""Exponent above which an epsilon is taken as this one; such a loss reveals everything."""

RATES = np.unique(
    np.concatenate([np.geomspace(1e-9, 0.5, 260), 1 - np.geomspace(1e-9, 0.5, 160)])
)
"""The false-positive rates at which the curve of a rho is computed."""

ORDERS = 1 + np.geomspace(1e-3, 1e5, 140)
"""The Rényi orders that bound a test. Fewer of them give a higher curve, which is true too."""

BISECTIONS = 36
"""Steps after which the largest rate is known to 2**-36, which is below `SLACK`."""

TINY = 1e-300


def _of_rho(rho: Fraction, rates: Floats = RATES, orders: Floats = ORDERS) -> TradeOff:
    """Return the curve of rho-zCDP: the largest y whose test (x, y) has the loss.

    The divergences between Bernoulli(y) and Bernoulli(x) grow with y above x, so that the
    largest y is found by bisection. The curve is concave, because a public coin may choose
    between two mechanisms. So between two rates it is below the chords of their neighbours,
    continued, and these continued chords are the chain that is returned.
    """
    if rho == 0:
        return TradeOff(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    amount = float(rho) * (1 + SLACK)
    low, high = rates.copy(), np.minimum(1.0, rates + sqrt(amount / 2) + SLACK)  # by Pinsker
    limit = orders * (orders - 1) * amount * (1 + SLACK) + 1e-13
    x = _logs(rates)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        allowed = _is_allowed(x, _logs(middle), limit, orders)
        low, high = np.where(allowed, middle, low), np.where(allowed, high, middle)
    return _around(rates, high)


def _logs(rates: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of rates, and of one minus them."""
    return np.log(np.maximum(rates, TINY)), np.log(np.maximum(1 - rates, TINY))


def _is_allowed(
    x: tuple[Floats, Floats], y: tuple[Floats, Floats], limit: Floats, orders: Floats
) -> NDArray[np.bool_]:
    """Return whether every order allows a test with these rates, given as `_logs`.

    The other divergence is computed where the first one does not exclude the test.
    """
    allowed = _within(y, x, limit, orders)
    rest = np.flatnonzero(allowed)
    ends = [(one[rest], other[rest]) for one, other in (x, y)]
    allowed[rest] = _within(ends[0], ends[1], limit, orders)
    return allowed


def _within(
    p: tuple[Floats, Floats], q: tuple[Floats, Floats], limit: Floats, orders: Floats
) -> NDArray[np.bool_]:
    """Return whether the divergence of Bernoulli(p) from Bernoulli(q) is within the limit."""
    some, none = (
        np.multiply.outer(one, orders) + np.multiply.outer(other, 1 - orders)
        for one, other in zip(p, q, strict=True)
    )
    return np.asarray(np.all(np.logaddexp(some, none) <= limit, axis=1))


_HALF = np.geomspace(1e-3, 0.5, 48)
FEW_RATES = np.unique(np.concatenate([_HALF, 1 - _HALF]))
FEW_ORDERS = 1 + np.geomspace(1e-3, 1e4, 32)
"""The rates and orders of `quick_pairs`: few, and none far in the tails."""


@lru_cache(maxsize=4096)
def quick_pairs(loss: core.Loss) -> Fraction:
    """Return the `TradeOff.pairs` of a loss within some milliseconds, slightly rounded up.

    Guarantee: it is not below the figure of `curve_of_loss`, because a curve of fewer rates and
    orders is higher. It is at most 0.001 above it.

    Example:
        >>> loss = core.Loss.zcdp("0.18")
        >>> 0 <= quick_pairs(loss) - curve_of_loss(loss).pairs < Fraction(1, 1000)
        True
    """
    if loss.measure is not core.Measure.ZCDP:
        return curve_of_loss(loss).pairs
    quick = _of_rho(loss.amount, FEW_RATES, FEW_ORDERS)
    return _mixed_with_all(quick, float(loss.delta)).pairs


def _around(x: Floats, y: Floats) -> TradeOff:
    """Return a chain that is not below a concave curve, of which these points are known.

    Between two points the curve lies below the chord on their left, continued, and below the
    chord on their right. The corners are where these two meet.
    """
    ends_x = np.concatenate([[0.0], x, [1.0]])
    ends_y = np.concatenate([[0.0], y, [1.0]])
    slopes = np.diff(ends_y) / np.diff(ends_x)
    corners = [(0.0, float(y[0]))]
    for at in range(1, len(ends_x) - 2):
        step = ends_x[at + 1] - ends_x[at]
        before, after = slopes[at - 1], slopes[at + 1]
        # before * t = (y' - y) + after * (t - step)
        rise = ends_y[at + 1] - ends_y[at] - after * step
        part = min(max(rise / max(before - after, TINY), 0.0), step)
        corners.append((float(ends_x[at]), float(ends_y[at])))
        corners.append((float(ends_x[at] + part), float(ends_y[at] + before * part)))
    corners += [(float(x[-1]), float(y[-1])), (float(x[-1]), 1.0), (1.0, 1.0)]
    return hull(corners)


def hull(corners: Sequence[tuple[float, float]]) -> TradeOff:
    """Return the least concave chain that is not below any of these points.

    Example:
        >>> hull([(0.0, 0.0), (0.5, 0.5), (0.5, 0.9), (1.0, 1.0)]).true_positive.tolist()
        [0.0, 0.9, 1.0]
    """
    kept: list[tuple[float, float]] = []
    for point in sorted(corners):
        if kept and kept[-1][0] == point[0]:
            kept.pop()  # points are sorted, so that this one is not lower
        while len(kept) > 1 and _turns_left(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    return TradeOff(
        np.array([each[0] for each in kept]),
        np.minimum(np.maximum.accumulate([each[1] for each in kept]), 1.0),
    )


def _turns_left(
    one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]
) -> bool:
    """Return whether the middle point is not above the chord between the others."""
    across = (two[0] - one[0]) * (three[1] - one[1])
    return across >= (two[1] - one[1]) * (three[0] - one[0])


def _mixed_with_all(curve: TradeOff, delta: float) -> TradeOff:
    """Return the curve of a mechanism that reveals everything with probability ``delta``."""
    if not delta:
        return curve
    if delta >= 1:
        return TradeOff(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    x = np.append(curve.false_positive * (1 - delta), 1.0)
    y = np.append(delta + (1 - delta) * curve.true_positive, 1.0)
    return TradeOff(x, y, curve.mu)


# Curves of events ----------------------------------------------------------------------------


@lru_cache(maxsize=8)  # a curve of a convolution has many corners
def curve_of_event(event: core.Event) -> TradeOff:
    """Return the curve of ``event``, and its mu if all of its noise is Gaussian.

    Guarantee: no test on the release of ``event`` is above the curve. The events are those that
    really happened, or that were fixed in advance: for a cap, use `curve_of_loss`.

    Example:
        >>> noise = core.GaussianNoise(Fraction(10**6), Fraction(10**6))
        >>> curve = curve_of_event(noise)
        >>> round(float(curve.pairs), 4), round(float(curve.mu), 4)
        (0.7603, 1.0)
    """
    mu = gaussian_mu(event)
    if mu is not None and not any(is_coarse(leaf) for leaf, _ in leaves(event)):
        return curve_of_mu(mu)
    one = pair_of(event, removed=False)
    other = pair_of(event, removed=True)
    if one.is_equal(other):
        return replace(_of_pair(one), mu=mu)
    both = [_of_pair(each) for each in (one, other)]
    points = [
        (float(x), float(y))
        for each in both
        for x, y in zip(each.false_positive, each.true_positive, strict=True)
    ]
    return hull(points)


def _of_pair(pair: LossPair) -> TradeOff:
    """Return the curve of a pair: the best tests accuse where the privacy loss is large."""
    found = pair.infinite + np.cumsum(np.append(0.0, pair.masses[::-1]))
    accused = np.cumsum(np.append(0.0, (pair.masses * pair.ratios)[::-1]))
    x = np.append(np.minimum(accused, 1.0), 1.0)
    y = np.append(np.minimum(found + SLACK, 1.0), 1.0)
    return TradeOff(x, y)


# Gaussian differential privacy ---------------------------------------------------------------

QUANTILES = 1500
"""Number of points at which the curve of a mu is computed."""


@lru_cache(maxsize=128)
def curve_of_mu(mu: Fraction) -> TradeOff:
    """Return the curve of mu-GDP: that of telling N(0, 1) from N(mu, 1).

    Example:
        >>> round(float(curve_of_mu(Fraction(1)).pairs), 4)
        0.7603
    """
    move = float(mu) * (1 + SLACK)
    ends = np.linspace(8.5 + move, -8.5, QUANTILES)
    x = np.array([erfc(each / sqrt(2)) / 2 for each in ends])
    y = np.array([erfc((each - move) / sqrt(2)) / 2 for each in ends])
    kept = (x > LEAST_RATE) & (x < 1 - LEAST_RATE)
    curve = _around(x[kept], y[kept])
    return TradeOff(curve.false_positive, curve.true_positive, mu)


LEAST_RATE = 1e-12
"""Rates nearer to 0 or 1 than this are not points of a curve; the chain is above them."""
