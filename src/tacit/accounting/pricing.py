"""How events add up: written here, once, for every kind of event and every measure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

from tacit import core
from tacit.accounting.convert import delta_of_rho, epsilon_of_rho, least_that
from tacit.accounting.curves import ball_delta, smooth_laplace_delta
from tacit.errors import InvalidValue
from tacit.numeric import exp_bounds, log_bounds, sqrt_bounds


def leaves(event: core.Event) -> Iterator[tuple[core.Event, int]]:
    """The leaves of ``event``, each with how often it happened.

    Guarantee: an event repeated is the same event listed so many times.

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


# ------------------------------------------------------------------ cost
# What one leaf costs, in every currency that can be stated for it: one rule a leaf.


@dataclass(frozen=True, slots=True)
class Cost:
    """Upper bounds on what one leaf gives up.

    ``epsilon`` with ``delta`` is a point of its curve, pure where delta is 0, and None where no
    such point belongs to it; ``rho`` is its zero-concentrated loss up to the same delta.
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction = Fraction(0)


@singledispatch
def cost_of(leaf: core.Event) -> Cost:
    """What ``leaf`` costs.

    Reference: Bun, Steinke 2016, propositions 1.4 and 1.6, for rho = epsilon**2 / 2 and for
    Gaussians; Cesar, Rogers 2021, for rho = epsilon**2 / 8 of a bounded range; with delta, the
    leaf is a mixture of a pure one and an arbitrary one (Kairouz, Oh, Viswanath 2015).
    """
    raise InvalidValue(f"No rule says what {type(leaf).__name__} costs.")


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
    # what lies beyond the neighbour's reach: the last ``moved`` integers on one side
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
        lost = Fraction(moved)  # none of them weighs more than 1
    return _pure(leaf.sensitivity / leaf.scale, min(Fraction(1), lost / total))


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


@cost_of.register
def _(leaf: core.Sampled) -> Cost:
    """Price a sample: epsilon becomes log(1 + q * (exp(epsilon) - 1)), and delta q * delta.

    This holds for adding or removing one unit (Balle, Barthe, Gaboardi 2018, theorem 8). From
    it follows rho = epsilon**2 / 2 for the epsilon of the sample, up to q * delta, as for any
    leaf that has a delta.

    The rho of the whole event, up to q * delta, holds as well. The theorem does not say so, so
    here is the proof. Let S be the sample of all other units; its law does not depend on the
    unit. Write M for the event on S, and N for the event on S with the unit. That the event
    has rho up to delta says that there are laws with

        M = (1 - delta) A + delta B   and   N = (1 - delta) C + delta D,

    where the Renyi divergence between A and C of every order alpha > 1, in both directions, is
    at most rho * alpha (Bun, Steinke 2016, definition 8.1). What is released about the table
    without the unit is M, and about the table with it (1 - q) M + q N. Both are mixtures:

        M                 = [(1 - q) M + q (1 - delta) A]  +  q delta B
        (1 - q) M + q N   = [(1 - q) M + q (1 - delta) C]  +  q delta D

    The brackets have the same weights, and their first parts are equal. Renyi divergence is
    quasi-convex in pairs of laws (van Erven, Harremoes 2014, theorem 13), so that the
    divergence between the two brackets, scaled to laws, is at most the larger of 0 and
    rho * alpha, in both directions. The same holds after S is averaged out, again by
    quasi-convexity. So the sample has rho up to q * delta. Nothing smaller than q * delta
    would do: the unit is in the sample with probability q, and then D may give it away.

    `tests/unit/accounting/test_sampled.py` computes both claims for exact laws.
    """
    whole = cost_of(leaf.event)
    if whole.epsilon is None:
        # being sampled costs nothing: a mixture with "not in the sample" loses no more
        return whole
    grown = 1 + leaf.probability * (exp_bounds(whole.epsilon)[1] - 1)
    epsilon = min(whole.epsilon, log_bounds(grown)[1]) if grown > 1 else Fraction(0)
    return Cost(epsilon, min(whole.rho, epsilon**2 / 2), leaf.probability * whole.delta)


# ------------------------------------------------------------------ curve
# The whole privacy curve of an event: delta at every epsilon, for events fixed in advance.


def delta_at(event: core.Event, epsilon: Fraction) -> Fraction:
    """A delta such that ``event`` is (epsilon, delta)-private.

    The least of the ways to bound it.

    Guarantee: never below the true one. The least of several bounds is valid because the event
    is fixed; a budget that is spent adaptively adds up one measure instead
    (`tacit.lab.accountants`).
    Reference: a mechanism with (e, d) is at most randomised response with d of the mass lost,
    whose delta at epsilon is d + (1 - d) * (exp(e) - exp(epsilon)) / (exp(e) + 1) (Kairouz, Oh,
    Viswanath 2015, theorem 3.1).

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
        return _rounded_up(smooth_laplace_delta(leaf.factor, leaf.smoothing, epsilon))
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
            # per unit of sensitivity, rounded toward more loss
            part = float(scale / sqrt_bounds(square)[1]) * (1 - 2**-50)
            bounds.append(Fraction(ball_delta(part, dimensions, float(epsilon))))
    return min(bounds)


def _rounded_up(delta: float) -> Fraction:
    """A delta computed in floats, with room for their rounding."""
    return min(Fraction(1), Fraction(delta) * (1 + Fraction(1, 10**6)) + Fraction(1, 10**15))


def _response_delta(pure: Fraction, epsilon: Fraction) -> Fraction:
    """The delta of randomised response of ``pure`` at ``epsilon``, rounded up."""
    if epsilon >= pure:
        return Fraction(0)
    # (exp(pure) - exp(epsilon)) / (exp(pure) + 1), which rises with exp(pure)
    top = exp_bounds(pure)[1]
    return (top - exp_bounds(epsilon)[0]) / (top + 1)


# ------------------------------------------------------------------ price
# What an event costs, under the measure that a budget counts in.

EPSILON_UNIT = Fraction(1, 10**6)
"""An epsilon that is read off a curve is a multiple of this, rounded up."""


def loss_of(
    event: core.Event, measure: core.Measure, delta: Fraction = Fraction(0)
) -> core.Loss:
    """The loss of ``event``: an amount that a budget of ``measure`` can add up.

    Under `Measure.APPROXIMATE` a leaf that has no epsilon of its own, such as Gaussian noise,
    is converted at ``delta``, once for each time that it happened.

    Guarantee: ``event`` satisfies the loss, and losses of one measure add up even where each
    event is chosen after the answers of those before were seen.
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
        else:
            total += _leaf_loss(cost_of(leaf), measure, delta) * times
    return total


def _curve_loss(leaf: core.Event, measure: core.Measure, delta: Fraction) -> core.Loss:
    """The loss of a leaf that has a curve and nothing else: the point of it at ``delta``."""
    if measure is not core.Measure.APPROXIMATE or not delta:
        raise InvalidValue(
            f"{type(leaf).__name__} has a price in epsilon at a delta above 0, and no other."
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
        "This event has no pure loss, since it can be told apart with a small probability; "
        "charge it to a budget that counts in rho with delta or in epsilon with delta."
    )


# ------------------------------------------------------------------ calibrate
# The least noise within a loss, for any mechanism, by solving its own curve.

UNIT = Fraction(1, 10**9)
"""Parameters are solved for to this step, rounded toward more noise."""


def calibrate(
    event_at: Callable[[Fraction], core.Event],
    loss: core.Loss,
    delta: Fraction = Fraction(0),
    unit: Fraction = UNIT,
) -> Fraction:
    """The least parameter, more of which is more noise, whose event stays within ``loss``.

    No constant is typed in: the loss is that of the event which will be charged.

    Guarantee: ``loss_of(event_at(parameter))`` is within ``loss``, and at ``parameter - unit``
    it is not.

    Example:
        >>> from tacit.core.event import LaplaceNoise
        >>> calibrate(lambda scale: LaplaceNoise(Fraction(3), scale), core.Loss.pure("0.1"))
        Fraction(30, 1)
    """
    if loss.amount <= 0:
        raise InvalidValue(f"No noise is enough for {loss}: ask for a loss above 0.")
    return least_that(lambda x: loss_of(event_at(x), loss.measure, delta) <= loss, unit)
