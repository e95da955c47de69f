"""Group privacy: what several people together lose.

The lectures state that k people lose (k * epsilon, k * delta). That is false for delta above 0:
``docs/privacy/errata.md`` shows a counterexample. What is known of the mechanism is used first.
"""

from dataclasses import replace
from fractions import Fraction
from functools import singledispatch

from tacit.core.event import Composed, Event, Nothing, Repeated
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.noise_event import (
    BallNoise,
    CubeNoise,
    GaussianNoise,
    LaplaceNoise,
    RealGaussianNoise,
)
from tacit.core.selection_event import ExponentialSelection, PermuteAndFlipSelection
from tacit.errors import InvalidValue
from tacit.numeric.exact import exp_bounds


@singledispatch
def group_event(event: Event, size: int) -> Event:
    """The event as a group of ``size`` units sees it.

    Its sensitivity is that many times as large.

    Example:
        >>> group_event(GaussianNoise(Fraction(1), Fraction(9)), 5)
        GaussianNoise(sensitivity_square=Fraction(25, 1), variance=Fraction(9, 1))
    """
    raise InvalidValue(
        f"How a group of {size} sees {type(event).__name__} is not known; "
        "take the loss of one unit, and group_loss of that."
    )


@group_event.register
def _(event: Nothing, size: int) -> Event:
    del size
    return event


@group_event.register
def _(event: Composed, size: int) -> Event:
    return Composed(tuple(group_event(part, size) for part in event.events))


@group_event.register
def _(event: Repeated, size: int) -> Event:
    return Repeated(group_event(event.event, size), event.times)


@group_event.register(LaplaceNoise)
@group_event.register(CubeNoise)
def _(event: LaplaceNoise | CubeNoise, size: int) -> Event:
    return replace(event, sensitivity=event.sensitivity * size)


@group_event.register(GaussianNoise)
@group_event.register(RealGaussianNoise)
@group_event.register(BallNoise)
def _(event: GaussianNoise | RealGaussianNoise | BallNoise, size: int) -> Event:
    return replace(event, sensitivity_square=event.sensitivity_square * size**2)


@group_event.register(ExponentialSelection)
@group_event.register(PermuteAndFlipSelection)
def _(event: ExponentialSelection | PermuteAndFlipSelection, size: int) -> Event:
    return replace(event, epsilon=event.epsilon * size)


def group_loss(loss: Loss, size: int) -> Loss:
    """What a group of ``size`` units loses where one of them loses ``loss``.

    Guarantee: delta grows by the factor (exp(k * epsilon) - 1) / (exp(epsilon) - 1), not by k.
    Reference: Vadhan 2017, lemma 2.2; Bun, Steinke 2016, proposition 1.9 for rho * k**2.

    Example:
        >>> print(group_loss(Loss.pure("0.1"), 5), group_loss(Loss.zcdp("0.1"), 5), sep="; ")
        ε = 0.5; ρ = 2.5
    """
    if size < 1:
        raise InvalidValue(f"A group has at least 1 member, and {size} were given.")
    match loss.measure:
        case Measure.PURE:
            return loss * size
        case Measure.ZCDP if not loss.delta:
            return Loss(loss.measure, loss.amount * size**2)
        case Measure.APPROXIMATE:
            return Loss(
                loss.measure, loss.amount * size, loss.delta * _delta_factor(loss, size)
            )
    raise InvalidValue(
        "What a group loses is not known for rho with a delta; convert it to epsilon first."
    )


def _delta_factor(loss: Loss, size: int) -> Fraction:
    """1 + exp(epsilon) + ... + exp((size - 1) * epsilon), rounded up."""
    return sum((exp_bounds(loss.amount * step)[1] for step in range(1, size)), Fraction(1))
