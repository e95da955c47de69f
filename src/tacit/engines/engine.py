"""The port to an engine, the secret table that an engine returns, and the row-order hash.

An engine takes a bounded plan and returns secret integers. If a plan has tree tallies, the
engine counts only the leaves of each tree, and the counts of the nodes above are their sums.
"""

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
from tacit.noise import Integers, integer_array
from tacit.plan import BoundedPlan, TreeTally


@dataclass(frozen=True, slots=True)
class Leaf:
    """The exact number of kept rows of a group in one cell of tree tally ``place``."""

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
    """Return the counts of all nodes of a tree: group by group, and from the top level down.

    A leaf whose group is not among ``groups`` is left out, like the sums of such a group. A
    cell outside of the tree counts as the nearest one.

    Example:
        >>> from tacit.plan.steps import WholeSteps
        >>> tree = TreeTally(WholeSteps(0), levels=2, branching=2, high=1)
        >>> nodes(0, tree, (("north",),), [Leaf(0, ("north",), 3, 5)]).tolist()
        [0, 5, 0, 0, 0, 5]
        >>> nodes(0, tree, (("north",),), [Leaf(0, ("north",), 9, 5)]).tolist()
        [0, 5, 0, 0, 0, 5]
    """
    order = {group: row for row, group in enumerate(groups)}
    counts = np.zeros((len(groups), tally.cells), dtype=np.int64)
    for leaf in leaves:
        if leaf.place == place and leaf.group in order:
            # no cell is outside, and if one were, nothing may fail on it
            cell = min(max(leaf.cell, 0), tally.cells - 1)
            counts[order[leaf.group], cell] += leaf.rows
    levels = [counts]
    for level in reversed(range(1, tally.levels)):
        below = levels[-1].reshape(len(groups), tally.branching**level, tally.branching)
        levels.append(below.sum(axis=2))
    return np.concatenate(levels[::-1], axis=1).ravel()


# ------------------------------------------------------------------ engine
# The port to the database that holds the data: it takes a bounded plan and returns secret
# integers.

GroupRow = tuple[Group, tuple[int, ...]]
"""One group and its exact tallies, before they are wrapped as secrets."""


@dataclass(frozen=True, slots=True)
class SecretTable:
    """The secret result of an engine: its groups, if they are secret, and all tallies.

    If the groups are public, ``groups`` is None. The tallies then list all public groups in the
    order of `public_groups`, with or without rows, so that nothing depends on which groups
    occur in the data.
    """

    groups: Secret[tuple[Group, ...]] | None
    tallies: tuple[Secret[Integers], ...]


class Engine(Protocol):
    """A database system that runs bounded plans."""

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """Return the secret answer; ``salt`` decides which rows of a unit are kept."""
        ...


@runtime_checkable
class RowEngine(Protocol):
    """An engine that can also return secret rows, for models that sums do not suffice for."""

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """Return the rows that ``plan`` keeps: the unit's number, then an integer per tally.

        The rows of a unit are next to each other, ordered by their integers. The number of rows
        is not limited.
        """
        ...


@runtime_checkable
class RehearsingEngine(Protocol):
    """An engine that can check, without reading a row, whether it is able to run a plan."""

    def rehearse(
        self, plan: BoundedPlan, catalog: Catalog, salt: bytes, *, rows: bool = False
    ) -> None:
        """Refuse a plan whose statements this engine cannot run, whatever the rows are.

        The statements are those of `run`, or those of `RowEngine.rows` if ``rows`` is true. A
        process checks each statement once. `EngineUnreachable` is raised if the engine could
        not be asked.

        Guarantee: no row is read. Whether the plan is refused is a function of the statement
        and of the tables' names, types and access rights.
        """
        ...


class CheckedEngine(Engine, Protocol):
    """The whole port: an engine that also checks, without reading a row, the declared tables.

    `tacit.testing.engine_contract.EngineContract` calls each member. It cannot check whether
    `check` reads a row where columns are typed, nor whether the reasons of `plain` are true.
    """

    @property
    def dialect(self) -> Dialect | None:
        """The SQL dialect of the engine; None for an engine that is not asked in SQL."""
        ...

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue with a table that does not exist or has columns of other types."""
        ...

    def plain(self, catalog: Catalog) -> tuple[str, ...]:
        """Return the reasons why tables may not be served in place, as sentences.

        No row is read. There is no reason against a table if reading one of its rows means to
        read stored values and nothing else: see `tacit.engines.storage_rules`.
        """
        ...

    def tables(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of all tables; a name is a tuple of its parts."""
        ...

    def columns(self, table: tuple[str, ...]) -> tuple[Column, ...]:
        """Return the columns of a table that questions can use, by their types alone."""
        ...

    def identities(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Return the identities of the physical table; see `tacit.engines.table_identity`."""
        ...

    def close(self) -> None:
        """Close the connection to the database; a second call does nothing."""
        ...


@runtime_checkable
class ListingEngine(Protocol):
    """An engine that can also name the columns that no question can use."""

    def unused_columns(self, table: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Return the names and types of columns without a kind; a type has no labels."""
        ...


def unused_columns(
    engine: CheckedEngine, table: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Return the columns of a table that no question can use; empty if that is not known."""
    return engine.unused_columns(table) if isinstance(engine, ListingEngine) else ()


MEMBERS = ("dialect", "run", "check", "plain", "tables", "columns", "identities", "close")
"""The members that every engine has. An engine that returns rows also has ``rows``."""


def public_groups(plan: BoundedPlan) -> tuple[Group, ...] | None:
    """Return all groups of the answer in their order; None if a key has no public list."""
    if any(key.keys is None for key in plan.keys):
        return None
    return tuple(product(*(key.keys.values for key in plan.keys if key.keys is not None)))


def wrap_groups(
    plan: BoundedPlan, rows: list[GroupRow], leaves: Sequence[Leaf] = ()
) -> SecretTable:
    """Wrap exact groups and tallies as a `SecretTable`, in an order independent of the table's.

    A statement returns each group once. If a driver decodes two different names to equal ones,
    their tallies are added. If one of them replaced the other, a single row could replace the
    count of many rows.
    """
    groups = public_groups(plan)
    nothing = (0,) * len(plan.tallies)
    found: dict[Group, tuple[int, ...]] = {}
    for group, counts in rows:
        there = found.get(group, nothing)
        found[group] = tuple(map(add, there, counts))
    order = tuple(sorted(found)) if groups is None else groups
    columns = zip(*(found.get(group, nothing) for group in order), strict=True)
    tallies = tuple(Secret(integer_array(list(column))) for column in columns)
    if not order:
        tallies = tuple(Secret(np.zeros(0, dtype=np.int64)) for _ in plan.tallies)
    tallies = tuple(
        Secret(nodes(place, tally, order, leaves)) if isinstance(tally, TreeTally) else counts
        for place, (tally, counts) in enumerate(zip(plan.tallies, tallies, strict=True))
    )
    return SecretTable(Secret(order) if groups is None else None, tallies)


def wrap_result(plan: BoundedPlan, found: Sequence[Sequence[Any]]) -> SecretTable:
    """Wrap the rows that a statement of `question` returned as a `SecretTable`."""
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


# ------------------------------------------------------------------ row-order hash
# The hash that decides which of a unit's own rows and groups are kept. Every engine computes
# the same integer.
#
# Bounding is sound for every order that is a function of the unit's own rows. So the hash need
# not be secret or cryptographic; it only has to look random. It consists of products and shifts
# of 31-bit integers, which do not overflow on any engine.

WORD = 2**32 - 1
"""Mask of the 32 bits that are hashed: the lowest of a number, the first of a text's MD5."""

MOST = 2**31 - 1
"""The largest hash: it fits into a signed integer of four bytes."""

SHIFT = 16
FACTORS = (927_646_739, 668_265_263, 1_013_904_223)
"""Odd factors below 2^30: the product of one with an offset plus a word is below 2^63."""


def hash_offset(salt: bytes, place: int) -> int:
    """Return the salted number that is added to the word with the index ``place``."""
    return int.from_bytes(sha256(b"%d|%b" % (place, salt)).digest()[:4]) & MOST


def hash_values(salt: bytes, parts: Sequence[Key | None]) -> int:
    """Return the row-order hash of a salt and some values.

    Each value contributes to a sum, and to an odd factor by which the sum is multiplied. If
    values only contributed to the sum, most units would order two groups in the same way, and
    some groups would rarely be kept. Sums are not nested, so that the expression in a statement
    is not deep.

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
    """Return the number of the fold that a unit belongs to, from 0 to ``folds`` - 1."""
    return hash_values(fold_salt(salt), [unit]) % folds


def fold_salt(salt: bytes) -> bytes:
    """Return the salt for folds. It differs from the salt for rows, so both are independent."""
    return b"fold|" + salt


def _multiply_shift(value: int, factor: int) -> int:
    return (value * factor >> SHIFT) & MOST


def word(part: Key | None) -> int:
    """Return the 32-bit word of a value that is hashed; NULL has the word 0."""
    match part:
        case None:
            return 0
        case str():
            digest = md5(part.encode(), usedforsecurity=False).hexdigest()
            return int(digest[:8], 16)
        case _:
            return part & WORD
