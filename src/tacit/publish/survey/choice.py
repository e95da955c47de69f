"""A question with answers to choose from."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core.release import ReleasedColumn
from tacit.errors import InvalidValue
from tacit.local.ratio import ratio_within
from tacit.local.shares import USUAL, shares
from tacit.local.subset import Subset
from tacit.publish.survey.percent import percent, two_parts

MOST_OPTIONS = 100
SOME = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the ``options``, told as a few of them.

    The randomiser is `Subset` at its best size, which has the least error of all; for two or
    three options at a usual epsilon it tells one of them.
    """

    name: str
    text: str
    options: tuple[str, ...]
    epsilon: Fraction
    remember: bool = False
    oracle: Subset = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 < len(set(self.options)) == len(self.options) <= MOST_OPTIONS:
            raise InvalidValue(f"A question has 2 to {MOST_OPTIONS} options, no two the same.")
        best = Subset.best(len(self.options), ratio_within(self.epsilon))
        object.__setattr__(self, "oracle", best)
        two_parts(best.odds.true)

    @property
    def ratio(self) -> Fraction:
        """That of the randomiser."""
        return self.oracle.ratio

    @property
    def recipe(self) -> dict[str, Any]:
        """What a browser must know to randomise."""
        oracle = self.oracle
        return {
            "kind": "subset",
            "choices": oracle.choices,
            "size": oracle.size,
            "kept": two_parts(oracle.odds.true),
        }

    @property
    def shape(self) -> dict[str, Any]:
        """What a form must know to show it."""
        return {"options": list(self.options)}

    @property
    def promise(self) -> str:
        """What is sent, in a sentence."""
        true, size = percent(self.oracle.odds.true), self.oracle.size
        if size == 1:
            return (
                f"What is sent: one of these answers, drawn at random. It is yours with "
                f"{true} and another one with {percent(1 - self.oracle.odds.true)}."
            )
        return (
            f"What is sent: {size} of these answers, drawn at random. Yours is one of them "
            f"with {true}."
        )

    def check(self, report: list[int]) -> None:
        """Refuse what no browser of ours sends."""
        ordered = sorted(set(report)) == report and len(report) == self.oracle.size
        if not ordered or not 0 <= report[0] <= report[-1] < len(self.options):
            raise InvalidValue(
                f"The report of {self.name!r} holds {self.oracle.size} distinct numbers below "
                f"{len(self.options)}, in order."
            )

    def estimate(
        self, reports: list[list[int]], confidence: Fraction = USUAL
    ) -> tuple[ReleasedColumn, ...]:
        """The share of each option in percent, with its interval."""
        tally = self.oracle.tally(np.array(reports, dtype=np.int64)).tolist()
        found = shares(self.oracle.odds, tally, len(reports), confidence)
        return (
            ReleasedColumn(self.name, self.options),
            ReleasedColumn(
                "percent",
                tuple(100 * share.value for share in found),
                tuple((100 * share.interval[0], 100 * share.interval[1]) for share in found),
                confidence,
            ),
        )

    def variance(self, *, private: bool = True) -> Fraction:
        """Of the estimate from one person, for the share that is estimated worst."""
        if not private:
            return SOME * SOME
        odds = self.oracle.odds
        worst = min(max(odds.share(SOME), Fraction(0)), Fraction(1))
        return odds.variance(worst)
