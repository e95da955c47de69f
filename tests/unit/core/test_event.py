from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from fractions import Fraction
from typing import ClassVar

import pytest

from tacit.core.event import (
    Composed,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Nothing,
    Numerics,
    Repeated,
    Sampled,
)
from tacit.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class FloatNoise(Event):
    law: ClassVar[Numerics] = Numerics.IDEALISED


LAPLACE = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10, 3))
GAUSSIAN = GaussianNoise(sensitivity_square=Fraction(2), variance=Fraction(50))


@pytest.mark.parametrize("event", [Nothing(), LAPLACE, GAUSSIAN, Composed(())])
def test_integer_noise_is_exact(event: Event) -> None:
    assert event.numerics is Numerics.EXACT


@pytest.mark.parametrize(
    "around",
    [
        lambda event: event,
        lambda event: Composed((LAPLACE, event, GAUSSIAN)),
        lambda event: Repeated(event, 3),
        lambda event: Sampled(event, Fraction(1, 2)),
        lambda event: Composed((Repeated(Composed((event,)), 2), LAPLACE)),
    ],
)
def test_one_idealised_part_makes_the_whole_idealised(around: Callable[[Event], Event]) -> None:
    assert around(FloatNoise()).numerics is Numerics.IDEALISED
    assert around(LAPLACE).numerics is Numerics.EXACT


def test_an_event_describes_and_does_not_simplify() -> None:
    assert Repeated(LAPLACE, 2) != Composed((LAPLACE, LAPLACE))
    assert Composed((LAPLACE, GAUSSIAN)) != Composed((GAUSSIAN, LAPLACE))
    assert LaplaceNoise(Fraction(2), Fraction(20, 3)) != LAPLACE


def test_parameters_out_of_range_are_refused_and_shown() -> None:
    with pytest.raises(InvalidValue, match="sensitivity must be at least 0, but -1 was given"):
        LaplaceNoise(Fraction(-1), Fraction(1))
    with pytest.raises(InvalidValue, match="scale must be above 0, but 0 was given"):
        LaplaceNoise(Fraction(1), Fraction(0))
    with pytest.raises(InvalidValue, match="square must be at least 0, but -1/2 was"):
        GaussianNoise(Fraction(-1, 2), Fraction(1))
    with pytest.raises(InvalidValue, match="variance must be above 0, but -3 was given"):
        GaussianNoise(Fraction(1), Fraction(-3))
    with pytest.raises(InvalidValue, match="0 times or more, but times=-1 was given"):
        Repeated(LAPLACE, -1)


@pytest.mark.parametrize("probability", [Fraction(-1, 9), Fraction(10, 9)])
def test_a_sample_has_a_probability(probability: Fraction) -> None:
    with pytest.raises(
        InvalidValue, match=rf"must be in \[0, 1\], but {probability} was given"
    ):
        Sampled(LAPLACE, probability)


def test_the_least_parameters_are_allowed() -> None:
    assert LaplaceNoise(Fraction(0), Fraction(1, 10**9)).sensitivity == 0
    assert GaussianNoise(Fraction(0), Fraction(1, 10**9)).sensitivity_square == 0
    assert Repeated(LAPLACE, 0).times == 0
    assert [Sampled(LAPLACE, Fraction(p)).probability for p in (0, 1)] == [0, 1]


@pytest.mark.parametrize(
    ("event", "field"),
    [
        (LAPLACE, "scale"),
        (GAUSSIAN, "variance"),
        (Composed((LAPLACE,)), "events"),
        (Repeated(LAPLACE, 2), "times"),
    ],
)
def test_an_event_is_frozen(event: Event, field: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(event, field, None)
