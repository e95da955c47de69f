"""The trees of a question: an engine counts their leaves, and the nodes above are sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import md5, sha256
from itertools import product
from operator import add
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tacit.core import Catalog, Column, Group, Key, Secret
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.unit_rows import UnitRows
from tacit.noise import Integers, packed
from tacit.plan import BoundedPlan, TreeTally


@dataclass(frozen=True, slots=True)
class Leaf:
    """How many kept rows of a group fall into a cell of the tree at ``place``, exactly."""

    place: int
    group: tuple[Key, ...]
    cell: int
    rows: int


def nodes(
    place: int,
    tally: TreeTally,
    groups: tuple[tuple[Key, ...], ...],
    leaves: Sequence[Leaf],
) -> Integers:
    """The counts of all nodes, group after group, each level by level from the top.

    A leaf of a group that is not among ``groups`` counts nowhere, as its row's sums do.

    Example:
        >>> from tacit.plan.steps import WholeSteps
        >>> tree = TreeTally(WholeSteps(0), levels=2, branching=2, high=1)
        >>> nodes(0, tree, (("north",),), [Leaf(0, ("north",), 3, 5)]).tolist()
        [0, 5, 0, 0, 0, 5]
    """
    order = {group: row for row, group in enumerate(groups)}
    counts = np.zeros((len(groups), tally.cells), dtype=np.int64)
    for leaf in leaves:
        if leaf.place == place and leaf.group in order:
            counts[order[leaf.group], leaf.cell] += leaf.rows
    levels = [counts]
    for level in reversed(range(1, tally.levels)):
        below = levels[-1].reshape(len(groups), tally.branching**level, tally.branching)
        levels.append(below.sum(axis=2))
    return np.concatenate(levels[::-1], axis=1).ravel()


# ------------------------------------------------------------------ engine
# The port to where the data lives: a bounded question in, secret integers out.

GroupRow = tuple[Group, tuple[int, ...]]
"""One group, and its tallies, exact: it exists between an engine and its box."""


@dataclass(frozen=True, slots=True)
class SecretTable:
    """What an engine found: the groups, where they are secret, and each tally's integers.

    Where the groups are public they are all there, in the order of `public_groups`, with or
    without rows, so that nothing depends on which occur; ``groups`` is None then.
    """

    groups: Secret[tuple[Group, ...]] | None
    tallies: tuple[Secret[Integers], ...]


class Engine(Protocol):
    """Runs bounded questions where the data lives."""

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """The secret answer; ``salt`` decides which of a unit's rows and groups are kept."""
        ...


@runtime_checkable
class RowEngine(Protocol):
    """An engine that can hand on rows, in a box, for what no sum can tell."""

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """Hand on the rows that ``plan`` keeps: the unit's number, then an integer a tally.

        The rows of a unit come together, ordered by their integers. There is no cap on rows.
        """
        ...


@runtime_checkable
class RehearsingEngine(Protocol):
    """An engine that says, without a row, whether it can run a plan at all."""

    def rehearse(
        self, plan: BoundedPlan, catalog: Catalog, salt: bytes, *, rows: bool = False
    ) -> None:
        """Refuse a plan whose statements this engine cannot run, whatever the rows are.

        The statements are those of `run`, or of `RowEngine.rows` where ``rows`` are asked for.
        Each is read once in a process. `EngineUnreachable` says that it could not be tried.

        Guarantee: no row is read, and whether it refuses is a function of the statement and of
        the tables' names, types and rights.
        """
        ...


class CheckedEngine(Engine, Protocol):
    """The whole port: an engine that says, without a row, whether its tables are as declared.

    `tacit.testing.engine_contract.EngineContract` checks each member.
    """

    @property
    def dialect(self) -> Dialect | None:
        """The SQL that it is asked in; None for an engine that prints none."""
        ...

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue whose tables are not there, or of other types."""
        ...

    def plain(self, catalog: Catalog) -> tuple[str, ...]:
        """Why tables may not be served in place, a sentence each; no row is read.

        There is none where reading a row is reading the values that stand in it, and nothing
        else: `tacit.engines.storage_rules`.
        """
        ...

    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The names of all tables, part by part."""
        ...

    def columns(self, table: tuple[str, ...]) -> tuple[Column, ...]:
        """The columns of a table that can be asked about, by their types alone."""
        ...

    def identities(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Which physical table this is; see `tacit.engines.table_identity`."""
        ...

    def close(self) -> None:
        """Let go of the database; a second time does nothing."""
        ...


MEMBERS = ("dialect", "run", "check", "plain", "tables", "columns", "identities", "close")
"""The members that every engine has; one that hands on rows has ``rows`` beside them."""


def public_groups(plan: BoundedPlan) -> tuple[Group, ...] | None:
    """All groups of the answer in their order, where they are public."""
    if any(key.keys is None for key in plan.keys):
        return None
    return tuple(product(*(key.keys.values for key in plan.keys if key.keys is not None)))


def wrap_groups(
    plan: BoundedPlan, rows: list[GroupRow], leaves: Sequence[Leaf] = ()
) -> SecretTable:
    """What an engine found, in its box, in an order that tells nothing of the table's own.

    Statements name each group once. Should a driver decode two names alike all the same, their
    tallies are added: were one kept in place of the other, a single row could replace the count
    of many.
    """
    groups = public_groups(plan)
    nothing = (0,) * len(plan.tallies)
    found: dict[Group, tuple[int, ...]] = {}
    for group, counts in rows:
        there = found.get(group, nothing)
        found[group] = tuple(map(add, there, counts))
    order = tuple(sorted(found)) if groups is None else groups
    columns = zip(*(found.get(group, nothing) for group in order), strict=True)
    tallies = tuple(Secret(packed(list(column))) for column in columns)
    if not order:
        tallies = tuple(Secret(np.zeros(0, dtype=np.int64)) for _ in plan.tallies)
    tallies = tuple(
        Secret(nodes(place, tally, order, leaves)) if isinstance(tally, TreeTally) else counts
        for place, (tally, counts) in enumerate(zip(plan.tallies, tallies, strict=True))
    )
    return SecretTable(Secret(order) if groups is None else None, tallies)


def wrap_result(plan: BoundedPlan, found: Sequence[Sequence[Any]]) -> SecretTable:
    """What the statement of `tacit.engines.print.statement` found, in its box."""
    keys, tallies = len(plan.keys), len(plan.tallies)
    trees = {place for place, tally in enumerate(plan.tallies) if isinstance(tally, TreeTally)}
    rows, leaves = [], []
    for row in found:
        group, counts = tuple(row[:keys]), tuple(map(int, row[-tallies:]))
        cell = row[keys] if trees else -1
        if cell < 0:
            rows.append((group, counts))
        else:
            leaves += [
                Leaf(place, group, cell, counts[place]) for place in trees if counts[place]
            ]
    return wrap_groups(plan, rows, leaves)


# ------------------------------------------------------------------ mix
# The order in which a unit's own rows and groups are kept: an integer that every engine
# finds.
#
# Bounding is sound for every order that is a function of the unit's own rows, so that no
# secrecy is asked of this mix, and no more than that it looks random: products and shifts of
# 31 bits, which overflow nowhere.

WORD = 2**32 - 1
"""What is taken of a part: its lowest bits, or the first of the hash of a text."""

MOST = 2**31 - 1
"""The greatest mix: it fits into four bytes, signed."""

SHIFT = 16
FACTORS = (927_646_739, 668_265_263, 1_013_904_223)
"""Odd, below 2^30: their product with the sum of a start and a part is below 2^63."""


def hash_offset(salt: bytes, place: int) -> int:
    """What the part at ``place`` is added to."""
    return int.from_bytes(sha256(b"%d|%b" % (place, salt)).digest()[:4]) & MOST


def hash_values(salt: bytes, parts: Sequence[Key | None]) -> int:
    """The mix of a salt and some values.

    Each adds to a number, and to an odd factor that the number is multiplied by: were they only
    added, most units would order the same two groups alike, and some would hardly be kept. No
    sum is nested in another, so that statements stay shallow.

    Example:
        >>> hash_values(b"salt", ["ann", 3]) == hash_values(b"salt", ["ann", 4])
        False
    """
    number = factor = 0
    for place, value in enumerate(map(word, parts)):
        number += _multiply_shift(hash_offset(salt, 2 * place) + value, FACTORS[0])
        own = _multiply_shift(hash_offset(salt, 2 * place + 1) + value, FACTORS[1])
        factor += _multiply_shift(own, FACTORS[2])
    return _multiply_shift(number & MOST, 2 * (factor & MOST) + 1)


def fold_of(salt: bytes, unit: Key, folds: int) -> int:
    """Which of so many folds a unit is in, from 0 on."""
    return hash_values(fold_salt(salt), [unit]) % folds


def fold_salt(salt: bytes) -> bytes:
    """Another than that of the rows: which of them are kept says nothing about folds."""
    return b"fold|" + salt


def _multiply_shift(value: int, factor: int) -> int:
    return (value * factor >> SHIFT) & MOST


def word(part: Key | None) -> int:
    """What is mixed of a value."""
    match part:
        case None:
            return 0
        case str():
            digest = md5(part.encode(), usedforsecurity=False).hexdigest()
            return int(digest[:8], 16)
        case _:
            return part & WORD
