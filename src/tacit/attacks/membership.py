"""Membership inference: does a release reveal whether one person is in the data?

The attacker knows all rows except whether one person is in the data. `play` computes answers
with the person and without, and scores each one. `findings` compares exact answers, answers
with fresh noise for each repeat, and answers of Tacit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.exact import Cell, answers_differ, as_array, exactly, repeat_secret
from tacit.attacks.finding import Finding, Measured
from tacit.core import Catalog
from tacit.engines import Engine, SecretTable
from tacit.mechanisms import Gaussian, Laplace, LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan import AllOf, BoundedPlan, CompareColumn, Comparison, Negation, Value
from tacit.query import Quote, release

ONE_PERSON = "which of two answers has the person in it"
TWO_PEOPLE = "which of two people took part"


def presence(
    attack: str,
    system: str,
    members: NDArray[Any],
    others: NDArray[Any],
    allowed: float | None = None,
) -> Finding:
    """Measure how often scores distinguish releases with a person from releases without.

    A higher score means that the release looks more as if it contained the person. A blind
    guess succeeds in one half of the cases. Nobody takes the place of a person who is left
    out; otherwise, use `presence_of_two`.

    Example:
        >>> found = presence("a mean", "exact", np.array([9, 8, 9]), np.array([1, 2, 0]))
        >>> found.success.value
        1.0
    """
    return Finding(attack, system, ONE_PERSON, Measured.area(members, others), 0.5, allowed)


def presence_of_two(
    attack: str,
    system: str,
    members: NDArray[Any],
    others: NDArray[Any],
    allowed: float | None = None,
) -> Finding:
    """Measure how often scores distinguish a person who took part from one who did not.

    The size of the data is the same with either of them, so that ``allowed`` must be the limit
    of an exchange.

    Example:
        >>> presence_of_two("a mean", "exact", np.array([9, 8]), np.array([1, 2])).learns
        'which of two people took part'
    """
    found = presence(attack, system, members, others, allowed)
    return replace(found, learns=TWO_PEOPLE)


def hits_at(
    members: NDArray[Any], others: NDArray[Any], false_alarms: float = 0.01
) -> Measured:
    """Return the true positive rate at the false positive rate ``false_alarms``.

    Example:
        >>> hits_at(np.arange(100) + 99, np.arange(100)).value
        1.0
    """
    threshold = np.quantile(others, 1 - false_alarms)
    return Measured.share(float(np.count_nonzero(members > threshold)), members.size)


# ------------------------------------------------------------------ attack on a question

LEARNED, TRIED = 100, 200
"""Number of answers that the attacker simulates to learn from, and that are then scored."""

REPEATS, AVERAGES = 100, 50
"""Number of repeats of one question with fresh noise, and number of averages of repeats."""

SALT = b"an owner's attack"


def without(plan: BoundedPlan, person: Value, catalog: Catalog) -> BoundedPlan:
    """Return the same plan for the data without ``person``."""
    table, _, column = plan.source.unit.partition(".")
    known = {dataset.name: dataset for dataset in catalog.datasets}
    kind = known[table].schema[column].kind
    theirs = CompareColumn(Comparison.EQUAL, plan.source.unit, kind, person)
    return replace(plan, condition=AllOf((plan.condition, Negation(theirs))))


def is_there(quote: Quote, engine: Engine, catalog: Catalog, person: Value) -> bool:
    """Return whether a person has a row, by the exact answer to a COUNT of the rows."""
    plan = quote.bound.plan
    table, _, column = plan.source.unit.partition(".")
    kind = catalog.dataset(table).schema[column].kind
    theirs = CompareColumn(Comparison.EQUAL, plan.source.unit, kind, person)
    only = replace(plan, condition=AllOf((plan.condition, theirs)))
    return any(exactly(only, engine.run(only, catalog, SALT)).values())


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """Scores of noisy answers with one person and without.

    ``changed`` says whether the exact answers differ. ``averaged`` are scores of averages of
    repeats, for a system without a ledger; they are None for some questions.
    """

    changed: bool
    members: NDArray[np.float64]
    others: NDArray[np.float64]
    averaged: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def beside(self, other: "Game") -> "Game":
        """Return the game of both answers together, whose scores are the sums."""
        mine, theirs = self.averaged, other.averaged
        both = mine or theirs
        if mine and theirs:
            both = mine[0] + theirs[0], mine[1] + theirs[1]
        members, others = self.members + other.members, self.others + other.others
        return Game(self.changed or other.changed, members, others, both)


def play(quote: Quote, whole: Quote, engine: Engine, catalog: Catalog, person: Value) -> Game:
    """Score answers about all people, and about all people except ``person``.

    The attacker knows all rows, simulates answers of both kinds, and scores a new answer by its
    distance to the mean of either kind, with each number scaled by its variance. ``quote`` is
    for a part of the loss. ``whole`` is for all of it, which each repeat can spend where there
    is no ledger.
    """
    plan = quote.bound.plan
    both = [engine.run(each, catalog, SALT) for each in (plan, without(plan, person, catalog))]
    exact = [exactly(plan, table) for table in both]
    cells = list(dict.fromkeys([*exact[0], *exact[1]]))
    drawn = [_draw_answers(quote, table, cells) for table in both]
    known = [part[:LEARNED].mean(axis=0) for part in drawn]
    averaged = None
    if _is_additive(quote, both[0]):  # then the exact answers are the means
        known = [as_array(each, cells) for each in exact]
        averaged = _score_averages(whole, both, known)
    spread = np.mean([part[:LEARNED].var(axis=0) for part in drawn], axis=0)
    members, others = (_scores(part[LEARNED:], known, spread) for part in drawn)
    return Game(answers_differ(*exact), members, others, averaged)


def findings(label: str, games: list[Game], system: str, allowed: float) -> list[Finding]:
    """Return the success of an attacker who knows all other people, for each kind of answer.

    Noisy answers are attacked for the people whose absence changes the exact answer: those of
    all others have the same distribution with them and without, and would hide a leak.
    """
    changing = [game for game in games if game.changed]
    tried = changing or games
    # an exact answer is the same at every attempt; whether it changes is no matter of luck
    changed = np.repeat([float(game.changed) for game in games], TRIED)
    exact = presence(label, "exact answers", changed, np.zeros(changed.size))
    learns = f"{ONE_PERSON}, for {len(changing)} of {len(games)} whose absence changes it"
    if len(changing) == len(games):
        learns = ONE_PERSON
    found = [replace(exact, proved=len(changing), luck=None if changing else 1.0)]
    pairs = [game.averaged for game in tried if game.averaged]
    if pairs:
        again = f"fresh noise, {REPEATS} repeats, no ledger"
        first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
        found.append(presence(label, again, first, second))
    members = np.concatenate([game.members for game in tried])
    others = np.concatenate([game.others for game in tried])
    found.append(presence(label, system, members, others, allowed))
    return [replace(each, learns=learns) for each in found]


def _scores(
    answers: NDArray[Any], known: Sequence[NDArray[Any]], spread: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the linear discriminant of each answer between the two ``known`` means."""
    lean = (known[0] - known[1]) / np.maximum(spread, 1e-9)
    return np.asarray((answers - (known[0] + known[1]) / 2) @ lean)


def _score_averages(
    whole: Quote, both: Sequence[SecretTable], known: Sequence[NDArray[Any]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores of averages of repeats, each of which has the noise of the whole loss."""
    sides = []
    for table in both:
        rows = _together(whole, table, AVERAGES * REPEATS)
        sides.append(rows.reshape(AVERAGES, REPEATS, -1).mean(axis=1))
    spread = np.mean([side.var(axis=0) for side in sides], axis=0)
    members, others = (_scores(side, known, spread) for side in sides)
    return members, others


def _is_additive(quote: Quote, table: SecretTable) -> bool:
    """Return whether each number of an answer is the exact number plus independent noise."""
    noise = all(isinstance(part.mechanism, Laplace | Gaussian) for part in quote.tallies)
    return noise and table.groups is None and not quote.measured


def _together(quote: Quote, table: SecretTable, runs: int) -> NDArray[np.float64]:
    """Return ``runs`` releases, computed at once, where each number has its own noise."""
    gateway = LiveGateway(SystemEntropy(SALT))
    released = [
        part.mechanism.release(repeat_secret(secret, runs), part.sensitivity, gateway)
        for part, secret in zip(quote.tallies, table.tallies, strict=True)
    ]
    parts = [np.asarray(each, dtype=np.float64).reshape(runs, -1) for each in released]
    return np.concatenate(parts, axis=1)


def _draw_answers(quote: Quote, table: SecretTable, cells: list[Cell]) -> NDArray[np.float64]:
    """Return releases of one table, one in each row; a group that is missing counts as 0."""
    runs = LEARNED + TRIED
    if _is_additive(quote, table):
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
