"""Was one person's data used? Scores of releases with them and without."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.exact import Cell, as_array, exactly, moved, repeated
from tacit.attacks.finding import Finding, Measured
from tacit.core import Catalog
from tacit.engines import Engine, SecretTable
from tacit.mechanisms import Gaussian, Laplace, LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan import AllOf, BoundedPlan, CompareColumn, Comparison, NotSo, Value
from tacit.query import Quote, release


def presence(
    attack: str,
    system: str,
    members: NDArray[Any],
    others: NDArray[Any],
    allowed: float | None = None,
) -> Finding:
    """How often the attacker tells one whose data was used from one whose was not.

    Each score says how much a release looks as if it held the person: a higher one is a guess
    that it does. A half is a coin.

    Example:
        >>> told = presence("a mean", "exact", np.array([9, 8, 9, 9]), np.array([1, 2, 0, 1]))
        >>> told.success.value
        1.0
    """
    learns = "whose data was used, of two"
    return Finding(attack, system, learns, Measured.area(members, others), 0.5, allowed)


def hits_at(
    members: NDArray[Any], others: NDArray[Any], false_alarms: float = 0.01
) -> Measured:
    """The share of members found where so many others are taken for members by mistake.

    Example:
        >>> hits_at(np.arange(100) + 99, np.arange(100)).value
        1.0
    """
    threshold = np.quantile(others, 1 - false_alarms)
    return Measured.share(float(np.count_nonzero(members > threshold)), members.size)


# ------------------------------------------------------------------ on question
# Attack an answer before it leaves: is one person in, for whoever knows all the others?

LEARNED, TRIED = 100, 200
"""Answers that the attacker makes up to learn from, and answers that are told apart."""

REPEATS, AVERAGES = 100, 50
"""Answers to one question where noise is drawn anew, and how often they are averaged."""

SALT = b"an owner's attack"


def without(plan: BoundedPlan, person: Value, catalog: Catalog) -> BoundedPlan:
    """The same question about everybody but ``person``."""
    table, _, column = plan.source.unit.partition(".")
    known = {dataset.name: dataset for dataset in catalog.datasets}
    kind = known[table].schema[column].kind
    theirs = CompareColumn(Comparison.EQUAL, plan.source.unit, kind, person)
    return replace(plan, condition=AllOf((plan.condition, NotSo(theirs))))


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """Scores of answers with one person and without: one exact pair, and many noisy ones.

    The averaged ones are where nobody counts what was asked; some questions have none.
    """

    changed: bool
    members: NDArray[np.float64]
    others: NDArray[np.float64]
    averaged: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def beside(self, other: "Game") -> "Game":
        """The same person in another answer too: what both tell adds up."""
        mine, theirs = self.averaged, other.averaged
        both = mine or theirs
        if mine and theirs:
            both = mine[0] + theirs[0], mine[1] + theirs[1]
        members, others = self.members + other.members, self.others + other.others
        return Game(self.changed or other.changed, members, others, both)


def play(quote: Quote, whole: Quote, engine: Engine, catalog: Catalog, person: Value) -> Game:
    """Answers about everybody, and about everybody but ``person``, told apart.

    The attacker knows all rows, makes up answers of both kinds, and scores a new one by how far
    it leans to either: each number by its own spread. ``quote`` is for a part of the loss, and
    ``whole`` for all of it, as often as one likes where there is no ledger.
    """
    plan = quote.bound.plan
    both = [engine.run(each, catalog, SALT) for each in (plan, without(plan, person, catalog))]
    exact = [exactly(plan, table) for table in both]
    cells = list(dict.fromkeys([*exact[0], *exact[1]]))
    drawn = [_drawn(quote, table, cells) for table in both]
    known = [part[:LEARNED].mean(axis=0) for part in drawn]
    averaged = None
    if _adds(quote, both[0]):  # then the exact answers are the means
        known = [as_array(each, cells) for each in exact]
        averaged = _averaged(whole, both, known)
    spread = np.mean([part[:LEARNED].var(axis=0) for part in drawn], axis=0)
    members, others = (_scores(part[LEARNED:], known, spread) for part in drawn)
    return Game(moved(*exact), members, others, averaged)


def findings(label: str, games: list[Game], system: str, allowed: float) -> list[Finding]:
    """What whoever knows all the others learns of the people played with, side by side."""
    # an exact answer is the same at every try
    told = np.repeat([float(game.changed) for game in games], TRIED)
    members = np.concatenate([game.members for game in games])
    others = np.concatenate([game.others for game in games])
    found = [presence(label, "exact answers", told, np.zeros(told.size))]
    pairs = [game.averaged for game in games if game.averaged]
    if pairs:
        again = f"noise anew, {REPEATS} repeats, no ledger"
        first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
        found.append(presence(label, again, first, second))
    return [*found, presence(label, system, members, others, allowed)]


def _scores(
    answers: NDArray[Any], known: Sequence[NDArray[Any]], spread: NDArray[Any]
) -> NDArray[np.float64]:
    """How far each answer leans from the second of the ``known`` ones to the first."""
    lean = (known[0] - known[1]) / np.maximum(spread, 1e-9)
    return np.asarray((answers - (known[0] + known[1]) / 2) @ lean)


def _averaged(
    whole: Quote, both: Sequence[SecretTable], known: Sequence[NDArray[Any]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores of averages of repeats, each with the noise of the whole loss."""
    sides = []
    for table in both:
        rows = _together(whole, table, AVERAGES * REPEATS)
        sides.append(rows.reshape(AVERAGES, REPEATS, -1).mean(axis=1))
    spread = np.mean([side.var(axis=0) for side in sides], axis=0)
    members, others = (_scores(side, known, spread) for side in sides)
    return members, others


def _adds(quote: Quote, table: SecretTable) -> bool:
    """Whether each number of an answer is the exact one with noise of its own."""
    noise = all(isinstance(part.mechanism, Laplace | Gaussian) for part in quote.tallies)
    return noise and table.groups is None


def _together(quote: Quote, table: SecretTable, runs: int) -> NDArray[np.float64]:
    """So many releases at once, where each number has its own noise."""
    gateway = LiveGateway(SystemEntropy(SALT))
    released = [
        part.mechanism.release(repeated(secret, runs), part.sensitivity, gateway)
        for part, secret in zip(quote.tallies, table.tallies, strict=True)
    ]
    parts = [np.asarray(each, dtype=np.float64).reshape(runs, -1) for each in released]
    return np.concatenate(parts, axis=1)


def _drawn(quote: Quote, table: SecretTable, cells: list[Cell]) -> NDArray[np.float64]:
    """Releases of one table, a row each; a group that was not released counts 0."""
    runs = LEARNED + TRIED
    if _adds(quote, table):
        return _together(quote, table, runs)
    gateway = LiveGateway(SystemEntropy(SALT))
    answers = [release(quote, table, gateway) for _ in range(runs)]
    if table.groups is None:
        return np.array([np.concatenate(released) for _, released in answers], dtype=np.float64)
    places = {cell: place for place, cell in enumerate(cells)}
    rows = np.zeros((runs, len(cells)))
    for row, (groups, released) in zip(rows, answers, strict=True):
        for tally, part in enumerate(released):
            width = len(part) // max(1, len(groups))
            for number, value in enumerate(part):
                row[places[tally, groups[number // width], number % width]] = value
    return rows
