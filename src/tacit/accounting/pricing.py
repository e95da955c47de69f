"""The privacy loss of events: composition, cost of single events, curves and calibration.

Composition is implemented once, in `leaves`, for every kind of event and every measure: an
event is a tree, and its leaves are single mechanisms with the number of times that each was
run. `cost_of` has one rule per kind of leaf. `loss_of` adds up the costs in the measure of a
budget, `delta_at` computes the delta of a whole event at an epsilon, and `calibrate` finds the
least noise within a loss.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch

from tacit import core
from tacit.accounting.concentrated_loss import laplace_rho, pure_rho, response_rho
from tacit.accounting.convert import delta_of_rho, epsilon_of_rho, least_that
from tacit.accounting.curves import ball_delta, smooth_laplace_delta
from tacit.errors import InvalidValue
from tacit.numeric import exp_bounds, log_bounds, sqrt_bounds

# Composition ---------------------------------------------------------------------------------


def leaves(event: core.Event) -> Iterator[tuple[core.Event, int]]:
    """Yield the leaves of ``event``, each with the number of times that it happened.

    Guarantee: `Repeated(event, n)` gives the same counts as a list of n copies of the event.

    Example:
        >>> from fractions import Fraction
        >>> from tacit.core.event import LaplaceNoise
        >>> week = LaplaceNoise(Fraction(1), Fraction(10))
        >>> [
        ...     times
        ...     for _, times in leaves(
        ...         core.Repeated(core.Composed((week, core.Repeated(week, 3))), 52)
        ...     )
        ... ]
        [52, 156]
    """
    match event:
        case core.Nothing():
            return
        case core.Composed(events):
            for part in events:
                yield from leaves(part)
        case core.Repeated(part, times):
            for leaf, inner in leaves(part):
                if times:
                    yield leaf, inner * times
        case _:
            yield event, 1


# Cost of one leaf ----------------------------------------------------------------------------


PI_BELOW = Fraction(3141592653589793, 10**15)
"""A number just below pi."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Upper bounds on the privacy loss of one leaf, in several measures.

    (``epsilon``, ``delta``) is a point of its privacy curve, which is pure differential privacy
    if delta is 0; ``epsilon`` is None if the leaf has no distinguished point, such as Gaussian
    noise. ``rho`` is its zCDP loss up to the same delta.
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction = Fraction(0)


@singledispatch
def cost_of(leaf: core.Event) -> Cost:
    """Return the cost of ``leaf``; there is one rule for each kind of leaf.

    Reference: Bun, Steinke 2016, propositions 1.4 and 1.6, for rho = epsilon**2 / 2 and for
    Gaussians; Cesar, Rogers 2021, for rho = epsilon**2 / 8 of a bounded range; with delta, the
    leaf is a mixture of a pure one and an arbitrary one (Kairouz, Oh, Viswanath 2015).
    """
    raise InvalidValue(
        f"There is no rule for the privacy loss of {type(leaf).__name__}. Use a mechanism "
        "whose event is listed in tacit.core.event."
    )


def _pure(epsilon: Fraction, delta: Fraction = Fraction(0)) -> Cost:
    return Cost(epsilon, epsilon**2 / 2, delta)


@cost_of.register
def _(leaf: core.LaplaceNoise) -> Cost:
    return _pure(leaf.sensitivity / leaf.scale)


@cost_of.register(core.GaussianNoise)
@cost_of.register(core.RealGaussianNoise)
def _(leaf: core.GaussianNoise | core.RealGaussianNoise) -> Cost:
    return Cost(None, leaf.sensitivity_square / (2 * leaf.variance))


@cost_of.register
def _(leaf: core.CubeNoise) -> Cost:
    return _pure(leaf.sensitivity / leaf.scale)


@cost_of.register
def _(leaf: core.BallNoise) -> Cost:
    return _pure(sqrt_bounds(leaf.sensitivity_square)[1] / leaf.scale)


@cost_of.register
def _(leaf: core.TruncatedLaplaceNoise) -> Cost:
    # outputs that the neighbour cannot produce: the last ``moved`` integers on one side
    moved, reach = leaf.sensitivity.__ceil__(), leaf.reach
    if moved > 2 * reach:
        return _pure(leaf.sensitivity / leaf.scale, Fraction(1))
    low, high = exp_bounds(-1 / leaf.scale)
    total = 1 + 2 * low * (1 - exp_bounds(-reach / leaf.scale)[1]) / (1 - low)
    nearest = reach - moved + 1
    if nearest >= 0:
        series = (1 - exp_bounds(-moved / leaf.scale)[0]) / (1 - high)
        lost = exp_bounds(-nearest / leaf.scale)[1] * series
    else:
        lost = Fraction(moved)  # the weight of each of them is at most 1
    return _pure(leaf.sensitivity / leaf.scale, min(Fraction(1), lost / total))


@cost_of.register
def _(leaf: core.DelayNoise) -> Cost:
    """Price a delay: rho = 1 / (2 * variance), up to the probability of one edge.

    Two neighbours have the same law, or laws that are one step apart. Their common support is
    all but one outcome of each, which has the probability delta of an edge. On that support,
    let u be the distance from its centre: u takes 2 * reach values, half-integers, and both
    laws have equal total weight, by reflection. With phi(x) = exp(-x**2 / (2 * variance)) and
    G(s) = sum of phi(u - s), the divergence of order a satisfies

        (a - 1) * D_a = a * (a - 1) / (2 * variance) + log(G(a - 1/2) / G(1/2)).

    So rho is right if G(s) <= G(1/2) for all s >= 1/2. First, G(s + 1) <= G(s) for such s: the
    sum loses a term that is nearer to 0 than the one it gains. Second, let s = 1/2 + f with f
    below 1. The sum of phi over *all* half-integers is largest at s = 1/2 (Poisson summation).
    The terms left out are phi(k - f) for k >= reach and phi(k + f) for k > reach. They are not
    less than at f = 0: phi(reach - f) >= phi(reach), and phi is convex beyond the square root
    of the variance, which the reach is not below, so that phi(k - f) + phi(k + f) >= 2 phi(k).

    The sum of phi over all integers is at least sqrt(2 * pi * variance), again by Poisson
    summation, and the terms beyond the reach are less than variance / reach * phi(reach) on
    each side.
    """
    edge = exp_bounds(-Fraction(leaf.reach**2) / (2 * leaf.variance))[1]
    beyond = 2 * leaf.variance / leaf.reach * edge
    total = max(Fraction(1), sqrt_bounds(2 * PI_BELOW * leaf.variance)[0] - beyond)
    return Cost(None, 1 / (2 * leaf.variance), min(Fraction(1), edge / total))


@cost_of.register
def _(leaf: core.ExponentialSelection) -> Cost:
    return Cost(leaf.epsilon, leaf.epsilon**2 / 8)


@cost_of.register
def _(leaf: core.PermuteAndFlipSelection) -> Cost:
    return _pure(leaf.epsilon)


@cost_of.register
def _(leaf: core.RandomisedResponseEvent) -> Cost:
    odds = leaf.truth * (leaf.choices - 1) / (1 - leaf.truth)
    return _pure(log_bounds(odds)[1] if odds > 1 else Fraction(0))


@cost_of.register
def _(leaf: core.KeySelection) -> Cost:
    return Cost(
        leaf.epsilon * leaf.max_keys,
        leaf.epsilon**2 * leaf.max_keys / 2,
        leaf.delta * leaf.max_keys,
    )


@cost_of.register
def _(leaf: core.AboveThreshold) -> Cost:
    return _pure(leaf.threshold_epsilon + leaf.query_epsilon)


@cost_of.register
def _(leaf: core.LomaxNoise) -> Cost:
    return _pure(leaf.epsilon)


@cost_of.register
def _(leaf: core.StudentNoise) -> Cost:
    root = sqrt_bounds(Fraction(leaf.degrees))[0]
    return _pure(leaf.smoothing * leaf.degrees + leaf.rate * (leaf.degrees + 1) / (2 * root))


@cost_of.register
def _(leaf: core.ProposeTestReleaseEvent) -> Cost:
    return _pure(leaf.test_epsilon + leaf.release_epsilon, leaf.delta)


# Cost of second versions ---------------------------------------------------------------------
#
# Their epsilon and delta are those of the first version, and only their rho is smaller. The
# rules above must never change, because ledgers hold these events with their prices.


@cost_of.register
def _(leaf: core.LaplaceNoiseV2) -> Cost:
    return Cost(leaf.sensitivity / leaf.scale, laplace_rho(leaf.sensitivity, leaf.scale))


@cost_of.register
def _(leaf: core.TruncatedLaplaceNoiseV2) -> Cost:
    # the truncated law loses less than the whole one on the outputs that both neighbours have
    return replace(_first_cost(leaf), rho=laplace_rho(leaf.sensitivity, leaf.scale))


@cost_of.register
def _(leaf: core.RandomisedResponseEventV2) -> Cost:
    return replace(_first_cost(leaf), rho=response_rho(leaf.truth, leaf.choices))


@cost_of.register
def _(leaf: core.KeySelectionV2) -> Cost:
    return replace(_first_cost(leaf), rho=pure_rho(leaf.epsilon) * leaf.max_keys)


@cost_of.register(core.BallNoiseV2)
@cost_of.register(core.CubeNoiseV2)
@cost_of.register(core.PermuteAndFlipSelectionV2)
@cost_of.register(core.AboveThresholdV2)
@cost_of.register(core.LomaxNoiseV2)
@cost_of.register(core.StudentNoiseV2)
@cost_of.register(core.ProposeTestReleaseEventV2)
def _(leaf: core.Event) -> Cost:
    cost = _first_cost(leaf)
    return replace(cost, rho=pure_rho(cost.epsilon or Fraction(0)))


def _first_cost(leaf: core.Event) -> Cost:
    return cost_of(core.first_version(leaf))


# Cost of a sample ----------------------------------------------------------------------------


@cost_of.register
def _(leaf: core.Sampled) -> Cost:
    """Price a sample: epsilon becomes log(1 + q * (exp(epsilon) - 1)), and delta q * delta.

    This holds for adding or removing one unit (Balle, Barthe, Gaboardi 2018, theorem 8). From
    it follows rho = epsilon**2 / 2 for the epsilon of the sample, up to q * delta, as for any
    leaf that has a delta.

    The rho of the whole event, up to q * delta, holds as well. The theorem does not say so, so
    here is the proof. Let S be the sample of all other units; its distribution does not depend
    on the unit. Write M for the event on S, and N for the event on S with the unit. That the
    event has rho up to delta says that there are distributions with

        M = (1 - delta) A + delta B   and   N = (1 - delta) C + delta D,

    where the Renyi divergence between A and C of every order alpha > 1, in both directions, is
    at most rho * alpha (Bun, Steinke 2016, definition 8.1). The output for the table without
    the unit is M, and for the table with the unit it is (1 - q) M + q N. Both are mixtures:

        M                 = [(1 - q) M + q (1 - delta) A]  +  q delta B
        (1 - q) M + q N   = [(1 - q) M + q (1 - delta) C]  +  q delta D

    The brackets have the same weights, and their first parts are equal. Renyi divergence is
    quasi-convex in pairs of distributions (van Erven, Harremoes 2014, theorem 13), so that the
    divergence between the two brackets, normalised, is at most the larger of 0 and rho * alpha,
    in both directions. The same holds after averaging over S, again by quasi-convexity. So the
    sample has rho up to q * delta. Nothing smaller than q * delta is possible: the unit is in
    the sample with probability q, and then D may reveal it.

    `tests/unit/accounting/test_sampled.py` computes both claims for exact distributions.
    """
    whole = cost_of(leaf.event)
    if whole.epsilon is None:
        # sampling cannot increase the loss: the output is a mixture with "not in the sample"
        return whole
    grown = 1 + leaf.probability * (exp_bounds(whole.epsilon)[1] - 1)
    epsilon = min(whole.epsilon, log_bounds(grown)[1]) if grown > 1 else Fraction(0)
    return Cost(epsilon, min(whole.rho, epsilon**2 / 2), leaf.probability * whole.delta)


# Privacy curve of a whole event --------------------------------------------------------------


def delta_at(event: core.Event, epsilon: Fraction) -> Fraction:
    """Return the least of several bounds on the delta of ``event`` at ``epsilon``.

    Guarantee: the result is never below the exact delta. Taking the least of several bounds is
    valid because the event is fixed in advance; a budget that is spent adaptively must add up
    one measure instead (`tacit.lab.accountants`).
    Reference: an (e, d)-private mechanism is dominated by randomised response that reveals
    everything with probability d, whose delta at epsilon is
    d + (1 - d) * (exp(e) - exp(epsilon)) / (exp(e) + 1) (Kairouz, Oh, Viswanath 2015, theorem
    3.1).

    Example:
        >>> from tacit.core.event import LaplaceNoise
        >>> noise = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(1))
        >>> delta_at(noise, Fraction(1)), round(float(delta_at(noise, Fraction(0))), 3)
        (Fraction(0, 1), 0.462)
    """
    listed = list(leaves(event))
    if (
        len(listed) == 1
        and isinstance(listed[0][0], core.SmoothLaplaceNoise)
        and listed[0][1] == 1
    ):
        leaf = listed[0][0]
        return _round_up(smooth_laplace_delta(leaf.factor, leaf.smoothing, epsilon))
    costs = [(cost_of(leaf), times) for leaf, times in listed]
    lost = sum((cost.delta * times for cost, times in costs), Fraction(0))
    rho = sum((cost.rho * times for cost, times in costs), Fraction(0))
    bounds = [lost + delta_of_rho(rho, epsilon), Fraction(1)]
    epsilons = [cost.epsilon * times for cost, times in costs if cost.epsilon is not None]
    if len(epsilons) == len(costs):
        pure = sum(epsilons, Fraction(0))
        bounds.append(lost + (1 - min(lost, Fraction(1))) * _response_delta(pure, epsilon))
    match listed:
        case [(core.BallNoise(square, scale, dimensions), 1)] if square:
            # the scale per unit of sensitivity, rounded toward more loss
            part = float(scale / sqrt_bounds(square)[1]) * (1 - 2**-50)
            bounds.append(Fraction(ball_delta(part, dimensions, float(epsilon))))
    return min(bounds)


def _round_up(delta: float) -> Fraction:
    """Return a delta that was computed in floats, with a margin for their rounding."""
    return min(Fraction(1), Fraction(delta) * (1 + Fraction(1, 10**6)) + Fraction(1, 10**15))


def _response_delta(pure: Fraction, epsilon: Fraction) -> Fraction:
    """Return the delta at ``epsilon`` of ``pure``-private randomised response, rounded up."""
    if epsilon >= pure:
        return Fraction(0)
    # (exp(pure) - exp(epsilon)) / (exp(pure) + 1), which increases with exp(pure)
    top = exp_bounds(pure)[1]
    return (top - exp_bounds(epsilon)[0]) / (top + 1)


# Loss in the measure of a budget -------------------------------------------------------------

EPSILON_UNIT = Fraction(1, 10**6)
"""Step of an epsilon that is read off a curve; it is rounded up to a multiple of it."""


def loss_of(
    event: core.Event, measure: core.Measure, delta: Fraction = Fraction(0)
) -> core.Loss:
    """Return the loss of ``event`` in the measure of a budget, which can be added up.

    Under `Measure.APPROXIMATE`, a leaf that has no epsilon of its own, such as Gaussian noise,
    is converted at ``delta``, once for each time that it happened.

    Guarantee: ``event`` satisfies the loss. Losses of one measure add up even if each event is
    chosen after seeing the answers of all earlier events.
    Reference: for zCDP with delta, Whitehouse, Ramdas, Rogers, Wu 2023, theorem 1.

    Example:
        >>> from tacit.core.event import LaplaceNoise
        >>> noise = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10))
        >>> print(
        ...     loss_of(noise, core.Measure.PURE), loss_of(noise, core.Measure.ZCDP), sep="; "
        ... )
        ε = 0.1; ρ = 0.005
    """
    total = core.Loss(measure, Fraction(0))
    for leaf, times in leaves(event):
        if isinstance(leaf, core.SmoothLaplaceNoise):
            total += _curve_loss(leaf, measure, delta) * times
            continue
        # versions differ in rho alone, and first versions need no logarithm for it
        priced = leaf if measure is core.Measure.ZCDP else core.first_version(leaf)
        total += _leaf_loss(cost_of(priced), measure, delta) * times
    return total


def _curve_loss(leaf: core.Event, measure: core.Measure, delta: Fraction) -> core.Loss:
    """Return the loss of a leaf that has only a privacy curve: its epsilon at ``delta``."""
    if measure is not core.Measure.APPROXIMATE or not delta:
        raise InvalidValue(
            f"{type(leaf).__name__} can be charged only in epsilon with a delta above 0. Use a "
            "budget in epsilon with delta, or another mechanism."
        )
    return core.Loss(
        measure, least_that(lambda x: delta_at(leaf, x) <= delta, EPSILON_UNIT), delta
    )


def _leaf_loss(cost: Cost, measure: core.Measure, delta: Fraction) -> core.Loss:
    match measure:
        case core.Measure.ZCDP:
            return core.Loss(measure, cost.rho, cost.delta)
        case core.Measure.APPROXIMATE if cost.epsilon is not None:
            return core.Loss(measure, cost.epsilon, cost.delta)
        case core.Measure.APPROXIMATE:
            return core.Loss(measure, epsilon_of_rho(cost.rho, delta), cost.delta + delta)
        case core.Measure.PURE if cost.epsilon is not None and not cost.delta:
            return core.Loss(measure, cost.epsilon)
    raise InvalidValue(
        "This event has no pure epsilon, because its guarantee needs a delta; charge it to a "
        "budget in rho with delta or in epsilon with delta."
    )


# Calibration ---------------------------------------------------------------------------------

UNIT = Fraction(1, 10**9)
"""Step of a calibrated parameter, which is rounded toward more noise."""


def calibrate(
    event_at: Callable[[Fraction], core.Event],
    loss: core.Loss,
    delta: Fraction = Fraction(0),
    unit: Fraction = UNIT,
    near: Fraction = Fraction(0),
) -> Fraction:
    """Return the least noise parameter whose event stays within ``loss``.

    A larger parameter must mean more noise. The search starts at ``near``, a guess. There is
    no separate formula for each mechanism: the loss is computed from the same event that will
    be charged.

    Guarantee: ``loss_of(event_at(parameter))`` is within ``loss``, and at ``parameter - unit``
    it is not.

    Example:
        >>> from tacit.core.event import LaplaceNoise
        >>> calibrate(lambda scale: LaplaceNoise(Fraction(3), scale), core.Loss.pure("0.1"))
        Fraction(30, 1)
    """
    if loss.amount <= 0:
        raise InvalidValue(f"No amount of noise is enough for {loss}; ask for a loss above 0.")
    return least_that(lambda x: loss_of(event_at(x), loss.measure, delta) <= loss, unit, near)
