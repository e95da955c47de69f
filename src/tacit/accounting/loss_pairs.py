"""Dominating pairs of distributions, as distributions of the privacy loss on a grid.

A pair (P, Q) dominates an event if no test tells the outputs on two neighbours apart better
than the best test tells P from Q. It is stored by the privacy loss L = log(P / Q): the mass of
P at each multiple of a step, and its mass where Q has none. Losses are rounded up to the grid,
and large ones to infinity, so that the stored pair dominates the true one. Independent losses
add up, so that the pair of several events is a convolution.

Reference: Zhu, Dong, Wang 2022, theorem 10 (adaptive composition) and theorem 11 (samples);
Koskela, Jälkö, Honkela 2020 (convolutions by Fourier transforms).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, erfc, exp, expm1, inf, lgamma, log, log1p, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import core
from tacit.accounting.gaussian_privacy import mu_square
from tacit.accounting.pricing import cost_of, leaves

Floats = NDArray[np.float64]

STEP = 1 / 2000
"""The step of the grid of losses. It is the most by which one kind of leaf rounds a loss up."""

HIGHEST = 40.0
"""The largest finite loss; a larger one counts as infinite, and a smaller one as -HIGHEST."""

PLACES = 2 * round(HIGHEST / STEP) + 1
"""Number of losses on the grid."""

MOST_KINDS = 64
"""Number of different leaves above which their losses are not added up one by one."""

ERRORS = 1e-13
"""The addition to the infinite loss, for the errors of floats, for each convolution."""


@dataclass(frozen=True, slots=True, eq=False)
class LossPair:
    """A pair of distributions: masses of P on the grid of losses, and at an infinite loss."""

    masses: Floats
    infinite: float

    @property
    def ratios(self) -> Floats:
        """The mass of Q for each mass of P: exp(-loss)."""
        return np.exp(-grid())

    def is_equal(self, other: "LossPair") -> bool:
        """Return whether the two pairs have the same masses."""
        same = self.infinite == other.infinite
        return same and bool(np.array_equal(self.masses, other.masses))


def grid() -> Floats:
    """Return the losses of the grid, in ascending order."""
    return np.asarray(np.arange(PLACES) - (PLACES - 1) // 2, dtype=np.float64) * STEP


def on_grid(losses: ArrayLike, masses: ArrayLike) -> LossPair:
    """Return a pair with these masses of P at these losses, which are rounded up."""
    found, weights = np.asarray(losses, dtype=np.float64), np.asarray(masses, dtype=np.float64)
    # a loss that is on the grid, but for the rounding of floats, stays where it is
    places = np.ceil(np.minimum(found, 2 * HIGHEST) / STEP - 1e-9) + (PLACES - 1) // 2
    finite = places < PLACES
    held = np.zeros(PLACES)
    np.add.at(held, np.maximum(places[finite], 0).astype(int), weights[finite])
    return LossPair(held, float(np.sum(weights[~finite])))


NOTHING = on_grid([0.0], [1.0])
"""The pair of an event that does not depend on the data."""


def compose(one: LossPair, other: LossPair) -> LossPair:
    """Return the pair of two events: the distribution of the sum of both losses."""
    if one is NOTHING or other is NOTHING:
        return other if one is NOTHING else one
    size = 1 << (2 * PLACES - 1).bit_length()
    product = np.fft.rfft(one.masses, size) * np.fft.rfft(other.masses, size)
    sums = np.maximum(np.fft.irfft(product, size)[: 2 * PLACES - 1], 0.0)
    middle = (PLACES - 1) // 2
    held = sums[middle : middle + PLACES].copy()
    held[0] += np.sum(sums[:middle])
    infinite = float(np.sum(sums[middle + PLACES :])) + ERRORS
    return LossPair(
        held, infinite + one.infinite + other.infinite - one.infinite * other.infinite
    )


def repeat(pair: LossPair, times: int) -> LossPair:
    """Return the pair of ``times`` events, by repeated squaring."""
    found, power = NOTHING, pair
    while times:
        if times & 1:
            found = compose(found, power)
        times >>= 1
        if times:
            power = compose(power, power)
    return found


# Pairs of events -----------------------------------------------------------------------------


def pair_of(event: core.Event, *, removed: bool) -> LossPair:
    """Return a pair that dominates ``event``, for "took part" against "did not".

    With ``removed``, P is the output without the person, and Q the one with the person. Only
    samples have another pair then.

    Guarantee: the curve of the returned pair is not below that of any two neighbours.
    """
    listed = list(leaves(event))
    if len({leaf for leaf, _ in listed}) > MOST_KINDS:
        return _of_many(listed, removed=removed)
    squares, found = 0.0, NOTHING
    counted: dict[core.Event, int] = {}
    for leaf, times in listed:
        square = None if is_coarse(leaf) else mu_square(leaf)
        if square is None:
            counted[leaf] = counted.get(leaf, 0) + times
        else:
            squares += square * times
    if squares:
        found = _normal(squares)
    for leaf, times in counted.items():
        found = compose(found, _of_leaf(leaf, times, removed=removed))
    return found


def _of_many(listed: list[tuple[core.Event, int]], *, removed: bool) -> LossPair:
    """Return a pair for many different leaves: that of randomised response of each.

    All epsilons are rounded up to a few, so that there are few different leaves.
    """
    squares, found = 0.0, NOTHING
    counted: dict[float, int] = {}
    lost = 0.0
    for leaf, times in listed:
        square = mu_square(leaf)
        if square is not None:
            squares += square * times
            continue
        epsilon, delta, runs = _pure_parts(leaf)
        if epsilon == inf:
            found = compose(found, _of_leaf(leaf, times, removed=removed))
            continue
        rounded = 0.0 if not epsilon else exp(ceil(log(epsilon) / ROUNDED) * ROUNDED)
        counted[rounded] = counted.get(rounded, 0) + times * runs
        lost += delta * times * runs
    if squares:
        found = compose(found, _normal(squares))
    for epsilon, times in counted.items():
        found = compose(found, _responses(epsilon, 0.0, times))
    return LossPair(found.masses * max(0.0, 1 - lost), min(1.0, found.infinite + lost))


ROUNDED = 0.02
"""Logarithm of the factor by which epsilons are rounded up if there are many of them."""


def _of_leaf(leaf: core.Event, times: int, *, removed: bool) -> LossPair:
    """Return the pair of a leaf that is not Gaussian, ``times`` times."""
    match leaf:
        case core.GaussianNoise(_, variance):
            return repeat(_integer_normal(float(variance)), times)
        case core.Sampled():
            return repeat(_sample_pair(leaf, removed=removed), times)
        case core.ExponentialSelection(epsilon) if epsilon:
            return repeat(_bounded_range(float(epsilon)), times)
        case core.DelayNoise(variance, reach):
            return repeat(_delay(float(variance), reach), times)
        case core.RandomisedResponseEvent(truth, choices) if times == 1:
            return _response(float(truth), choices)
    return _responses(*_pure_parts(leaf), times)


def _response(truth: float, choices: int) -> LossPair:
    """Return the pair of randomised response: the true answer, one other, and the rest."""
    lie = (1 - truth) / (choices - 1)
    loss = max(0.0, log(truth / lie))
    return on_grid([loss, -loss, 0.0], [truth, lie, (choices - 2) * lie])


def _pure_parts(leaf: core.Event) -> tuple[float, float, int]:
    """Return the epsilon and delta of one run of a leaf, and the number of its runs."""
    if isinstance(leaf, core.KeySelection):
        return _up(leaf.epsilon), _up(leaf.delta), leaf.max_keys
    if isinstance(leaf, core.SmoothLaplaceNoise | core.Sampled):
        return inf, 1.0, 1  # it has a curve, and no epsilon of its own
    cost = cost_of(core.first_version(leaf))
    if cost.epsilon is not None:
        return _up(cost.epsilon), _up(cost.delta), 1
    return inf, 1.0, 1


def _up(value: Fraction) -> float:
    return float(value) * (1 + 1e-12)


def _responses(epsilon: float, delta: float, runs: int, repeats: int = 1) -> LossPair:
    """Return the pair of ``runs * repeats`` runs with (epsilon, delta): randomised response.

    The loss is (2 * hits - times) * epsilon, where the number of hits is binomial. It is
    rounded once, after the runs were added up.
    Reference: Kairouz, Oh, Viswanath 2015, theorem 3.1.
    """
    times = runs * repeats
    kept = exp(times * log1p(-delta)) if delta < 1 else 0.0
    if not kept or epsilon == inf:
        return LossPair(np.zeros(PLACES), 1.0)
    if epsilon == 0:
        return LossPair(NOTHING.masses * kept, 1 - kept)
    hits = np.arange(times + 1)
    truth, lie = -log1p(exp(-epsilon)), -epsilon - log1p(exp(-epsilon))
    factorials = np.array([lgamma(each + 1) for each in range(times + 1)])
    chances = factorials[-1] - factorials - factorials[::-1] + hits * truth
    chances += (times - hits) * lie
    pair = on_grid((2 * hits - times) * epsilon, kept * np.exp(chances))
    return LossPair(pair.masses, pair.infinite + -expm1(log(kept)) + ERRORS)


COARSE_VARIANCE = 64
"""Variance of discrete Gaussian noise up to which its own law is used, where that is known."""


def is_coarse(leaf: core.Event) -> bool:
    """Return whether a leaf has discrete Gaussian noise of a small variance on one number.

    One unit moves it by one then. The curve of that law has corners, and is well below the
    curve of its mu between them. Which vector of moves is the worst is known for no other case.
    """
    return (
        isinstance(leaf, core.GaussianNoise)
        and 1 <= leaf.sensitivity_square < 2  # noqa: PLR2004 - the next sum of squares
        and leaf.variance <= COARSE_VARIANCE
    )


def _integer_normal(variance: float) -> LossPair:
    """Return the pair of discrete Gaussian noise that is moved by one."""
    reach = int(14 * sqrt(variance)) + 14
    steps = np.arange(-reach, reach + 1, dtype=float)
    weights = np.exp(-(steps**2) / (2 * variance))
    losses = (1 - 2 * steps) / (2 * variance)
    return on_grid(np.minimum(losses, 4 * HIGHEST), weights / np.sum(weights))


def _normal(square: float) -> LossPair:
    """Return the pair of N(mu, 1) and N(0, 1): the loss is normal, by mu * mu = ``square``."""
    mu = sqrt(square)
    ends = np.append(grid(), [])
    below = np.array([erfc(-(end - square / 2) / mu / sqrt(2)) / 2 for end in ends])
    masses = np.diff(below, prepend=0.0)
    return LossPair(np.maximum(masses, 0.0), max(0.0, 1 - float(below[-1])) + ERRORS)


def _bounded_range(epsilon: float) -> LossPair:
    """Return the pair of all mechanisms with the bounded range ``epsilon``.

    The best test at each false-positive rate is on two outcomes with the losses t and
    t - epsilon, for some t. Together these tests have the curve of a loss from -epsilon to
    epsilon, which exceeds l with probability (1 - exp((l - epsilon) / 2)) / (1 -
    exp(-epsilon)).
    Reference: Dong, Durfee, Rogers 2020, lemma 4.2.
    """
    ends = np.clip(grid(), -epsilon, epsilon)
    above = -np.expm1((ends - epsilon) / 2) / -expm1(-epsilon)
    masses = -np.diff(above, prepend=1.0)
    beyond = float(above[-1])
    return LossPair(np.maximum(masses, 0.0), max(0.0, beyond))


def _delay(variance: float, reach: int) -> LossPair:
    """Return the pair of a delay: truncated discrete Gaussian noise, moved by one step."""
    steps = np.arange(-reach, reach + 1, dtype=float)
    weights = np.exp(-(steps**2) / (2 * variance))
    weights /= np.sum(weights)
    losses = (1 - 2 * steps) / (2 * variance)
    losses[0] = inf  # the neighbour cannot give this outcome
    return on_grid(np.minimum(losses, 4 * HIGHEST), weights)


def _sample_pair(leaf: core.Sampled, *, removed: bool) -> LossPair:
    """Return the pair of an event on a sample, which has each unit with a probability.

    Without the unit the output is Q, and with it (1 - q) * Q + q * P, for the inner pair.
    """
    chance = float(leaf.probability)
    inner = pair_of(leaf.event, removed=removed)
    losses = grid()
    other = inner.masses * np.exp(-losses)
    rest = max(0.0, 1 - float(np.sum(other)))
    if removed:
        # P is "without": it has the mass of the inner P, and Q mixes it with the inner Q
        grown = -np.log((1 - chance) + chance * np.exp(-losses))
        most = -log1p(-chance) if chance < 1 else 4 * HIGHEST
        return on_grid(np.append(grown, most), np.append(inner.masses, inner.infinite))
    mixed = (1 - chance) * other + chance * inner.masses
    grown = np.log((1 - chance) + chance * np.exp(losses))
    least = log1p(-chance) if chance < 1 else -HIGHEST
    pair = on_grid(np.append(grown, least), np.append(mixed, (1 - chance) * rest))
    return LossPair(pair.masses, pair.infinite + chance * inner.infinite)
