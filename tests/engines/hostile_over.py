"""Engines over hostile stores: tables made by each engine's own writers, and how they are read.

`laid` writes both lists of rows of a store, each where the other is not, and gives the engines
over them: in place, and by a validated copy that `tacit prepare` makes for their owner. What
an owner is refused (a table that is not served in place, a file that is not opened, a copy that
is not made) is no question, and tells nobody anything.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from hostile_duckdb import duckdb_side
from hostile_files import parquet_side, spark_side
from hostile_postgres import postgres_side
from hostile_side import Side
from hostile_store import Store

from tacit.core.catalog import Catalog, UnitColumn
from tacit.engines.engine import CheckedEngine, SecretTable
from tacit.engines.prepare import Preparation
from tacit.errors import InvalidValue
from tacit.plan.bounded_plan import BoundedPlan
from tacit.project.engines import EngineAddress
from tacit.project.tables import CopyPlace, CopyPlan

SALT = b"salt"
MARK = "5a17"
MANY_PARTS = 16


@dataclass(frozen=True, slots=True)
class Laid:
    """Both sides of a store, and the ways in which they may be asked: each side's catalogue."""

    sides: tuple[CheckedEngine, ...]
    catalogs: Mapping[str, Sequence[Catalog]]

    def asked(self, how: str, place: int) -> "Asked":
        """One side as it is asked in one way."""
        return Asked(self.sides[place], self.catalogs[how][place])


@dataclass(frozen=True, slots=True)
class Asked:
    """An engine that reads by a catalogue of its own: copies lie elsewhere on each side."""

    engine: CheckedEngine
    catalog: Catalog

    def run(self, plan: BoundedPlan, _: Catalog, salt: bytes) -> SecretTable:
        """What the engine finds."""
        return self.engine.run(plan, self.catalog, salt)


@contextmanager
def laid(store: Store, *, anyway: bool = False) -> Iterator[Laid]:
    """Both sides of a store; with ``anyway``, a lie, in place where that is not allowed."""
    with ExitStack() as closing:
        made: dict[str, Sequence[Catalog]] = {}
        try:
            sides = [
                closing.enter_context(SIDES[store.engine](store, place)) for place in (0, 1)
            ]
        except InvalidValue:  # a file that is not opened
            yield Laid((), made)
            return
        with suppress(InvalidValue):
            for side in sides:
                if not anyway:
                    side.engine.check(store.catalog)
            told = [reason for side in sides for reason in side.engine.plain(store.catalog)]
            if anyway or not told:
                made["in place"] = [store.catalog] * 2
            elif store.engine == "parquet" or all(" collation" in reason for reason in told):
                made["by a local session"] = [store.catalog] * 2
        with suppress(InvalidValue):
            if not anyway:
                copies = [copied(store.catalog, side) for side in sides]
                for side, catalog in zip(sides, copies, strict=True):
                    side.engine.check(catalog)
                made["copy"] = copies
                if believed(store.catalog):
                    made["copy of another unit"] = [mistaken(store.catalog, s) for s in sides]
        yield Laid(tuple(side.engine for side in sides), made)


def copied(catalog: Catalog, side: Side, parts: int = 1) -> Catalog:
    """The catalogue with a copy of each table, which is made."""

    def made(table: Any) -> Any:
        making = Preparation(table, (side.where,), side.dialect, parts=parts)
        making.drop(side.owner)
        for _ in making.steps(SALT, side.owner):
            pass
        return making.prepared

    return replace(
        catalog,
        datasets=tuple(map(made, catalog.datasets)),
        public=tuple(map(made, catalog.public)),
    )


def by_visit(catalog: Catalog) -> Catalog:
    """The catalogue as it was declared by mistake: a visit is the unit, not its person."""
    visits, *others = catalog.datasets
    return replace(catalog, datasets=(replace(visits, unit=UnitColumn("visit")), *others))


def believed(catalog: Catalog) -> bool:
    """Whether copies made by the mistaken declaration are taken for those of the right one."""

    def of(made: Catalog, place: CopyPlace) -> CopyPlan:
        visits = made.dataset("visits")
        return CopyPlan(visits, (visits,), EngineAddress("here", "duckdb", "clinic"), place)

    made = of(by_visit(catalog), CopyPlace("main")).final_place(MARK)
    return of(catalog, made).reason_outdated() is None


def mistaken(catalog: Catalog, side: Side) -> Catalog:
    """The right declaration, over the copies that the mistaken one made (F-P19).

    Rows of a person lie in many parts. What is asked of a part is whether its own order holds,
    and in parts of a row or two it does.
    """
    made = copied(by_visit(catalog), side, MANY_PARTS)
    visits = replace(made.dataset("visits"), unit=catalog.dataset("visits").unit)
    return replace(made, datasets=(visits, *made.datasets[1:]))


SIDES: dict[str, Callable[[Store, int], Any]] = {
    "duckdb": duckdb_side,
    "parquet": parquet_side,
    "postgresql": postgres_side,
    "spark": spark_side,
}
