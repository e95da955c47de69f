"""Copies of the project file: where each lies, and what it is a copy of.

A copy is believed only for what it was made of. The file says by which declaration, of which
epoch and with which salt it was made, and where any of these is another now the copy is
outdated: a session refuses it, and a server makes it anew where it can.

Each making of a copy has a mark of its own, which is part of its tables' names. So a copy that
is made anew lies beside the one that sessions read, until the file speaks of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from hashlib import sha256

from tacit.core.dataset import (
    Dataset,
    Epoch,
    UnitColumn,
    ValidatedCopy,
    keeps_order,
    kept_unique,
)
from tacit.core.public_table import PublicTable
from tacit.errors import TacitError
from tacit.numeric.exact import plain
from tacit.project.engines import EngineAddress
from tacit.project.entry import Entry

FILES = (".duckdb", ".db")
PARTS = 2
TEXT_BYTES = 1_000
MARK_DIGITS = 8
"""Of a declaration's digest, in the names of tables; as many are of the salt's mark."""

MAKING_DIGITS = 12
MAKING = re.compile(f"[0-9a-f]{{{MAKING_DIGITS}}}")
"""The mark of one making, at the end of the names of its tables."""

MADE = "made: "
"""How the line beside a copy begins that says on which day its making began."""


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """Where an owner wants a copy: in a schema, or in a DuckDB file beside the project.

    One without an ``epoch`` is not made yet. The ``order`` is a mark of the salt of a ledger,
    and the ``declaration`` a digest of all that the copy was made by; ``made`` is the day on
    which that began, and ``making`` a mark that no other making has. Texts of more than
    ``text_bytes`` are NULL in it.

    Example:
        >>> CopyPlace("copies.duckdb").path
        ('copies.duckdb', 'main')
    """

    where: str
    parts: int = PARTS
    epoch: str | None = None
    order: str | None = None
    declaration: str | None = None
    made: str | None = None
    text_bytes: int = TEXT_BYTES
    making: str | None = None

    @property
    def file(self) -> str | None:
        """The file that it lies in, where that is one of its own."""
        return self.where if self.where.endswith(FILES) else None

    @property
    def path(self) -> tuple[str, ...]:
        """What stands before the names of its tables; a file is called by its own name."""
        return (self.where,) if self.file is None else (self.where, "main")

    @property
    def mark(self) -> str | None:
        """What its tables' names end in; those of version 0.1.0 had nothing of the kind.

        Copies of early versions of 0.2.0 have no mark of their making.
        """
        if self.declaration is None or self.order is None:
            return None
        return self.declaration[:MARK_DIGITS] + self.order + (self.making or "")

    def anew(self, day: date, making: str) -> "CopyPlace":
        """The place of a copy that is made on ``day``, under names that end in a new mark."""
        return replace(self, made=day.isoformat(), making=making)


def place_of(entry: Entry) -> CopyPlace:
    """``copy = { where = "main", epoch = "1", order = "5eed", ... }`` of a table."""
    texts = ("epoch", "order", "declaration", "made", "making")
    parts = entry.fields("where", "parts", "text_bytes", *texts)
    said = {name: parts[name].text() if name in parts else None for name in texts}
    numbers = {name: parts[name].whole() for name in ("parts", "text_bytes") if name in parts}
    for name, number in numbers.items():
        if number < 1:
            raise parts[name].fault(f"{name!r} of a copy is 1 or more.")
    try:
        date.fromisoformat(said["made"] or "2026-11-16")
    except ValueError as error:
        raise parts["made"].fault("'made' of a copy is a day, as 2026-11-16 is.") from error
    if said["making"] is not None and not MAKING.fullmatch(said["making"]):
        raise parts["making"].fault(
            f"'making' of a copy is {MAKING_DIGITS} digits, which tacit prepare writes."
        )
    return CopyPlace(entry.part("where").text(), **numbers, **said)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Copied:
    """A table that is copied: the way to its unit, its engine, and where its copy lies.

    By its ``linked`` columns rows of other tables find theirs.
    """

    table: Dataset | PublicTable
    way: Sequence[Dataset]
    engine: EngineAddress
    place: CopyPlace
    linked: tuple[str, ...] = ()

    @property
    def parts(self) -> int:
        """Of how many parts the copy is; a public table's is one."""
        return self.place.parts if isinstance(self.table, Dataset) else 1

    @property
    def declaration(self) -> str:
        """A digest of every public fact that the copy's rows follow from.

        Another unit, link, linked column, row key, epoch, table, engine, column or length
        gives another.
        """
        table, engine = self.table, self.engine
        facts = [
            f"table {table.name!r} of {getattr(table, 'population', None)!r}",
            f"from {table.location.table!r} of {engine.kind} {engine.address!r}",
            f"epoch {table.epoch.label!r}",
            f"{self.parts} parts, texts of {self.place.text_bytes} bytes",
            *map(_way, self.way),
            *(
                f"column {each.name!r}: {each.kind.value}"
                f"{'' if each.step is None else f' by {plain(each.step)}'}"
                for each in table.schema.columns
            ),
        ]
        if isinstance(table, Dataset) and keeps_order(table):
            facts.append(f"ordered by {table.row_key!r}")
        facts += [f"linked by {name!r}" for name in self.linked]
        return sha256("\n".join(("tacit copy 2", *facts)).encode()).hexdigest()

    @property
    def unique(self) -> tuple[str, ...]:
        """The columns of which the copy holds each value in one row."""
        return kept_unique(self.table, self.linked) if isinstance(self.table, Dataset) else ()

    def made(self, order: str) -> CopyPlace:
        """The place, once the copy is made by the ledger whose salt has this mark."""
        label, digest = self.table.epoch.label, self.declaration[:16]
        return replace(self.place, epoch=label, order=order, declaration=digest)

    def copy_by(self, order: str) -> ValidatedCopy:
        """The copy that the ledger whose salt has this mark makes, or has made."""
        made = self.made(order)
        epoch = Epoch(self.table.epoch.label)
        copy = ValidatedCopy.of(self.table.name, made.path, self.parts, epoch, made.mark)
        return replace(
            copy,
            order=order,
            declaration=made.declaration,
            ordered=isinstance(self.table, Dataset) and keeps_order(self.table),
            facts=self.facts(order),
            made=None if made.made is None else date.fromisoformat(made.made),
            unique=self.unique,
        )

    def facts(self, order: str) -> tuple[str, ...]:
        """What is written beside the copy, in the engine: what it is of, and who made it."""
        about = [
            f"table: {self.table.name}",
            f"population: {getattr(self.table, 'population', 'none, it is public')}",
            *map(_way, self.way),
            f"epoch: {self.table.epoch.label}",
            f"declaration: {self.declaration}",
            f"maker: {order}",
        ]
        if self.place.making is not None:
            about += [f"making: {self.place.making}", f"{MADE}{self.place.made}"]
        return tuple(about)

    def outdated(self) -> str | None:
        """Why the copy that the file speaks of is of something else, where it is."""
        name, place = self.table.name, self.place
        if place.epoch != self.table.epoch.label:
            why = f"is of epoch {place.epoch!r}, and the table of {self.table.epoch.label!r}"
        elif place.declaration is None or place.order is None:
            why = "was made by an earlier version of Tacit, which did not validate it"
        elif place.declaration != self.declaration[:16]:
            why = "was made by another declaration of its unit, columns or place"
        else:
            return None
        return f"The copy of {name!r} {why}; make it anew: tacit prepare {name}"


def day_in(facts: Sequence[str]) -> date | None:
    """The day on which a copy was made, by what is written beside it; None if it is not.

    Example:
        >>> day_in(["table: visits", "made: 2026-11-16"])
        datetime.date(2026, 11, 16)
        >>> day_in(["table: visits"])
    """
    said = [fact.removeprefix(MADE) for fact in facts if fact.startswith(MADE)]
    try:
        [day] = said
        return date.fromisoformat(day)
    except ValueError:
        return None


def with_copy(copied: Copied, entry: Entry) -> Dataset | PublicTable:
    """The table with the copy that the file says was made of it as it is declared now."""
    try:
        made = copied.copy_by(copied.place.order or "")
        return replace(copied.table, copy=made)
    except TacitError as error:
        raise entry.fault(str(error)) from error


def _way(dataset: Dataset) -> str:
    """How the rows of a dataset lead to their unit."""
    way = dataset.unit
    if isinstance(way, UnitColumn):
        return f"unit: {dataset.name}.{way.column}{', one row each' if way.one_row else ''}"
    return f"link: {dataset.name}.{way.column} to {way.parent}.{way.parent_column}"
