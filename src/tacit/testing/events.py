"""One example of every event, and strategies that make histories of them."""

from fractions import Fraction

from hypothesis import strategies as st

from tacit.core.event import Composed, Event, Nothing, Repeated, Sampled
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
from tacit.core.smooth_event import (
    LomaxNoise,
    ProposeTestRelease,
    SmoothLaplaceNoise,
    StudentNoise,
)

SMALL = Fraction(1, 10**6)

LEAVES: tuple[Event, ...] = (
    LaplaceNoise(Fraction(1), Fraction(10)),
    GaussianNoise(Fraction(2), Fraction(50)),
    TruncatedLaplaceNoise(Fraction(1), Fraction(5), 40),
    BallNoise(Fraction(1), Fraction(10), 3),
    CubeNoise(Fraction(1), Fraction(10), 3),
    ExponentialSelection(Fraction(1, 10)),
    PermuteAndFlipSelection(Fraction(1, 10)),
    RandomisedResponse(Fraction(2, 3), 2),
    KeySelection(Fraction(1, 10), SMALL, 2),
    AboveThreshold(Fraction(1, 20), Fraction(1, 10)),
    LomaxNoise(Fraction(1, 5), Fraction(1, 50)),
    StudentNoise(3, Fraction(1, 50), Fraction(1, 20)),
    ProposeTestRelease(Fraction(1, 10), Fraction(1, 10), SMALL),
    Sampled(LaplaceNoise(Fraction(1), Fraction(1)), Fraction(1, 100)),
    RealGaussianNoise(Fraction(1), Fraction(16)),
)
"""Every leaf that has a price of its own."""

UNPRICED: tuple[Event, ...] = (SmoothLaplaceNoise(Fraction(2), Fraction(1, 30)),)
"""Leaves whose price needs a delta of their own, by `tacit.accounting.smooth`."""


def histories(max_leaves: int = 8) -> st.SearchStrategy[Event]:
    """Events composed and repeated in every way."""
    return st.recursive(
        st.one_of(st.sampled_from(LEAVES), st.just(Nothing())),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(lambda events: Composed(tuple(events))),
            st.builds(Repeated, inner, st.integers(0, 5)),
        ),
        max_leaves=max_leaves,
    )
