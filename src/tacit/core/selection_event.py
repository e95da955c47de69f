"""Events of mechanisms that select.

A candidate, a key, an answer, the first query above a bar.
"""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.event import Event, above_zero, at_least_zero
from tacit.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class ExponentialSelection(Event):
    """One candidate, by weights whose logarithms one unit spreads by ``epsilon`` at most.

    Between neighbours, log(P(r) / P'(r)) lies in an interval of length ``epsilon``, the same
    for all candidates r (a bounded range). The exponential mechanism is this for rate * scores
    that each move by ``sensitivity``: epsilon = 2 * rate * sensitivity, and half of it where
    all scores move one way.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        at_least_zero(epsilon=self.epsilon)


@dataclass(frozen=True, slots=True)
class PermuteAndFlipSelection(Event):
    """One candidate by permute-and-flip: the same ``epsilon``, and no bounded range."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        at_least_zero(epsilon=self.epsilon)


@dataclass(frozen=True, slots=True)
class RandomisedResponse(Event):
    """One answer out of ``choices``.

    The true one with probability ``truth``, else any other.
    """

    truth: Fraction
    choices: int

    def __post_init__(self) -> None:
        if self.choices < 2:  # noqa: PLR2004 - fewer is no answer
            raise InvalidValue(
                f"An answer has 2 choices or more, and {self.choices} were given."
            )
        if not Fraction(1, self.choices) <= self.truth < 1:
            raise InvalidValue(
                f"The truth is told with a probability from 1/{self.choices} to below 1, "
                f"and {self.truth} was given."
            )


@dataclass(frozen=True, slots=True)
class KeySelection(Event):
    """Which keys have rows, each at (epsilon, delta), for up to ``max_keys`` of a unit."""

    epsilon: Fraction
    delta: Fraction
    max_keys: int

    def __post_init__(self) -> None:
        at_least_zero(epsilon=self.epsilon, delta=self.delta)
        above_zero(max_keys=Fraction(self.max_keys))


@dataclass(frozen=True, slots=True)
class AboveThreshold(Event):
    """Which queries of a stream pass a threshold, until so many have: the sparse vector.

    The threshold has Laplace noise worth ``threshold_epsilon``, drawn once, and all passings
    together cost ``query_epsilon``.
    """

    threshold_epsilon: Fraction
    query_epsilon: Fraction

    def __post_init__(self) -> None:
        at_least_zero(
            threshold_epsilon=self.threshold_epsilon, query_epsilon=self.query_epsilon
        )
