"""The port to where the data lives: a bounded question in, secret integers out."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from operator import add
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tacit.core.catalog import Catalog
from tacit.core.column import Column
from tacit.core.keys import Group
from tacit.core.secret import Secret
from tacit.engines.leaves import Leaf, nodes
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.unit_rows import UnitRows
from tacit.noise.integers import Integers, packed
from tacit.plan.bounded import BoundedPlan
from tacit.plan.tally import TreeTally

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
class RehearsedEngine(Protocol):
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
        else: `tacit.engines.plain_storage`.
        """
        ...

    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The names of all tables, part by part."""
        ...

    def columns(self, table: tuple[str, ...]) -> tuple[Column, ...]:
        """The columns of a table that can be asked about, by their types alone."""
        ...

    def identities(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Which physical table this is; see `tacit.engines.identity`."""
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


def sealed(plan: BoundedPlan, rows: list[GroupRow], leaves: Sequence[Leaf] = ()) -> SecretTable:
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


def boxed(plan: BoundedPlan, found: Sequence[Sequence[Any]]) -> SecretTable:
    """What the statement of `tacit.engines.print.question` found, in its box."""
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
    return sealed(plan, rows, leaves)
