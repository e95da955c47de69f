"""What one leaf costs, in every currency that can be stated for it: one rule a leaf."""

from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

from tacit.core.event import Event, Sampled
from tacit.core.noise_event import (
    BallNoise,
    CubeNoise,
    GaussianNoise,
    LaplaceNoise,
    RealGaussianNoise,
    TruncatedLaplaceNoise,
)
from tacit.core.selection_event import (
    AboveThreshold,
    ExponentialSelection,
    KeySelection,
    PermuteAndFlipSelection,
    RandomisedResponse,
)
from tacit.core.smooth_event import LomaxNoise, ProposeTestRelease, StudentNoise
from tacit.errors import InvalidValue
from tacit.numeric.exact import exp_bounds, log_bounds, sqrt_bounds


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
def cost_of(leaf: Event) -> Cost:
    """What ``leaf`` costs.

    Reference: Bun, Steinke 2016, propositions 1.4 and 1.6, for rho = epsilon**2 / 2 and for
    Gaussians; Cesar, Rogers 2021, for rho = epsilon**2 / 8 of a bounded range; with delta, the
    leaf is a mixture of a pure one and an arbitrary one (Kairouz, Oh, Viswanath 2015).
    """
    raise InvalidValue(f"No rule says what {type(leaf).__name__} costs.")


def _pure(epsilon: Fraction, delta: Fraction = Fraction(0)) -> Cost:
    return Cost(epsilon, epsilon**2 / 2, delta)


@cost_of.register
def _(leaf: LaplaceNoise) -> Cost:
    return _pure(leaf.sensitivity / leaf.scale)


@cost_of.register(GaussianNoise)
@cost_of.register(RealGaussianNoise)
def _(leaf: GaussianNoise | RealGaussianNoise) -> Cost:
    return Cost(None, leaf.sensitivity_square / (2 * leaf.variance))


@cost_of.register
def _(leaf: CubeNoise) -> Cost:
    return _pure(leaf.sensitivity / leaf.scale)


@cost_of.register
def _(leaf: BallNoise) -> Cost:
    return _pure(sqrt_bounds(leaf.sensitivity_square)[1] / leaf.scale)


@cost_of.register
def _(leaf: TruncatedLaplaceNoise) -> Cost:
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
def _(leaf: ExponentialSelection) -> Cost:
    return Cost(leaf.epsilon, leaf.epsilon**2 / 8)


@cost_of.register
def _(leaf: PermuteAndFlipSelection) -> Cost:
    return _pure(leaf.epsilon)


@cost_of.register
def _(leaf: RandomisedResponse) -> Cost:
    odds = leaf.truth * (leaf.choices - 1) / (1 - leaf.truth)
    return _pure(log_bounds(odds)[1] if odds > 1 else Fraction(0))


@cost_of.register
def _(leaf: KeySelection) -> Cost:
    return Cost(
        leaf.epsilon * leaf.max_keys,
        leaf.epsilon**2 * leaf.max_keys / 2,
        leaf.delta * leaf.max_keys,
    )


@cost_of.register
def _(leaf: AboveThreshold) -> Cost:
    return _pure(leaf.threshold_epsilon + leaf.query_epsilon)


@cost_of.register
def _(leaf: LomaxNoise) -> Cost:
    return _pure(leaf.epsilon)


@cost_of.register
def _(leaf: StudentNoise) -> Cost:
    root = sqrt_bounds(Fraction(leaf.degrees))[0]
    return _pure(leaf.smoothing * leaf.degrees + leaf.rate * (leaf.degrees + 1) / (2 * root))


@cost_of.register
def _(leaf: ProposeTestRelease) -> Cost:
    return _pure(leaf.test_epsilon + leaf.release_epsilon, leaf.delta)


@cost_of.register
def _(leaf: Sampled) -> Cost:
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
