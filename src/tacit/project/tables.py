"""Columns of the project file: kinds, and what is publicly known, and from where."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from hashlib import sha256

from tacit import core
from tacit.errors import TacitError
from tacit.numeric import plain
from tacit.project.document import TomlEntry
from tacit.project.engines import EngineAddress

KINDS = {kind.value: kind for kind in core.Kind}
PROVENANCES = {each.name.lower(): each for each in core.Provenance}
ENDS = 2


def schema_of(entry: TomlEntry) -> core.Schema:
    """The columns of a table."""
    return core.Schema(tuple(column_of(part) for _, part in entry.parts()))


def column_of(entry: TomlEntry) -> core.Column:
    """A column: its kind alone, or a table with what is known of its values."""
    if isinstance(entry.value, str):
        return core.Column(entry.name, _kind(entry))
    parts = entry.fields("kind", "bounds", "keys", "step", "provenance")
    source = _provenance(parts)
    bounds = _bounds(parts["bounds"], source) if "bounds" in parts else None
    keys = _keys(parts["keys"], source) if "keys" in parts else None
    step = parts["step"].number() if "step" in parts else None
    try:
        return core.Column(entry.name, _kind(entry.part("kind")), bounds, keys, step)
    except TacitError as error:
        raise entry.fault(str(error)) from error


def _kind(entry: TomlEntry) -> core.Kind:
    if entry.value not in KINDS:
        raise entry.fault(f"A column is one of: {', '.join(KINDS)}.")
    return KINDS[entry.text()]


def _provenance(parts: dict[str, TomlEntry]) -> core.Provenance:
    """Where the knowledge comes from; it is said wherever something is known."""
    known = [parts[name] for name in ("bounds", "keys") if name in parts]
    if "provenance" not in parts:
        if known:
            raise known[0].fault(
                f'Say where this is known from: provenance = "public" (known without the '
                f"data) or one of {', '.join(PROVENANCES)}."
            )
        return core.Provenance.PUBLIC
    if parts["provenance"].value not in PROVENANCES:
        raise parts["provenance"].fault(f"Provenance is one of: {', '.join(PROVENANCES)}.")
    return PROVENANCES[parts["provenance"].text()]


def _bounds(entry: TomlEntry, source: core.Provenance) -> core.Bounds:
    ends = [end.number_or_day() for end in entry.items()]
    try:
        match ends:
            case [date() as first, date() as last]:
                return core.Bounds.days(first, last, source)
            case [Fraction() as lower, Fraction() as upper]:
                return core.Bounds(lower, upper, source)
    except TacitError as error:
        raise entry.fault(str(error)) from error
    raise entry.fault("Bounds are two numbers or two days, the lower one first.")


def _keys(entry: TomlEntry, source: core.Provenance) -> core.Keys:
    values = tuple(item.value for item in entry.items())
    try:
        return core.Keys(values, source)
    except TacitError as error:
        raise entry.fault(str(error)) from error


# ------------------------------------------------------------------ copies
# Copies of the project file: where each lies, and what it is a copy of.
#
# A copy is believed only for what it was made of. The file says by which declaration, of
# which epoch and with which salt it was made, and where any of these is another now the copy
# is outdated: a session refuses it, and a server makes it anew where it can.
#
# Each making of a copy has a mark of its own, which is part of its tables' names. So a copy
# that is made anew lies beside the one that sessions read, until the file speaks of it.

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


def place_of(entry: TomlEntry) -> CopyPlace:
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

    table: core.Dataset | core.PublicTable
    way: Sequence[core.Dataset]
    engine: EngineAddress
    place: CopyPlace
    linked: tuple[str, ...] = ()

    @property
    def parts(self) -> int:
        """Of how many parts the copy is; a public table's is one."""
        return self.place.parts if isinstance(self.table, core.Dataset) else 1

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
            *map(_describe_unit, self.way),
            *(
                f"column {each.name!r}: {each.kind.value}"
                f"{'' if each.step is None else f' by {plain(each.step)}'}"
                for each in table.schema.columns
            ),
        ]
        if isinstance(table, core.Dataset) and core.keeps_order(table):
            facts.append(f"ordered by {table.row_key!r}")
        facts += [f"linked by {name!r}" for name in self.linked]
        return sha256("\n".join(("tacit copy 2", *facts)).encode()).hexdigest()

    @property
    def unique(self) -> tuple[str, ...]:
        """The columns of which the copy holds each value in one row."""
        return (
            core.kept_unique(self.table, self.linked)
            if isinstance(self.table, core.Dataset)
            else ()
        )

    def made(self, order: str) -> CopyPlace:
        """The place, once the copy is made by the ledger whose salt has this mark."""
        label, digest = self.table.epoch.label, self.declaration[:16]
        return replace(self.place, epoch=label, order=order, declaration=digest)

    def copy_by(self, order: str) -> core.ValidatedCopy:
        """The copy that the ledger whose salt has this mark makes, or has made."""
        made = self.made(order)
        epoch = core.Epoch(self.table.epoch.label)
        copy = core.ValidatedCopy.of(self.table.name, made.path, self.parts, epoch, made.mark)
        return replace(
            copy,
            order=order,
            declaration=made.declaration,
            ordered=isinstance(self.table, core.Dataset) and core.keeps_order(self.table),
            facts=self.facts(order),
            made=None if made.made is None else date.fromisoformat(made.made),
            unique=self.unique,
        )

    def facts(self, order: str) -> tuple[str, ...]:
        """What is written beside the copy, in the engine: what it is of, and who made it."""
        about = [
            f"table: {self.table.name}",
            f"population: {getattr(self.table, 'population', 'none, it is public')}",
            *map(_describe_unit, self.way),
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


def with_copy(copied: Copied, entry: TomlEntry) -> core.Dataset | core.PublicTable:
    """The table with the copy that the file says was made of it as it is declared now."""
    try:
        made = copied.copy_by(copied.place.order or "")
        return replace(copied.table, copy=made)
    except TacitError as error:
        raise entry.fault(str(error)) from error


def _describe_unit(dataset: core.Dataset) -> str:
    """How the rows of a dataset lead to their unit."""
    way = dataset.unit
    if isinstance(way, core.UnitColumn):
        return f"unit: {dataset.name}.{way.column}{', one row each' if way.one_row else ''}"
    return f"link: {dataset.name}.{way.column} to {way.parent}.{way.parent_column}"


# ------------------------------------------------------------------ tables
# Datasets and public tables of the project file.

PRIVATE = (
    "population",
    "unit",
    "one_row",
    "unique_by_constraint",
    "link",
    "max_groups",
    "max_rows",
    "max_rows_in_all",
    "row_key",
    "in_place",
)
PLACED = ("engine", "table", "epoch", "columns", "copy")


def dataset_of(entry: TomlEntry) -> core.Dataset:
    """A private table."""
    parts = entry.fields(*PRIVATE, *PLACED)
    row_key = parts["row_key"].text() if "row_key" in parts else None
    in_place = parts["in_place"].truth() if "in_place" in parts else False
    try:
        return core.Dataset(
            entry.name,
            entry.part("population").text(),
            schema_of(entry.part("columns")),
            _read_unit(entry, parts),
            _limits(entry, parts),
            _location(entry, parts),
            core.Epoch(entry.part("epoch").text()),
            row_key,
            in_place=in_place,
        )
    except TacitError as error:
        raise entry.fault(str(error)) from error


def public_of(entry: TomlEntry) -> core.PublicTable:
    """A table that is about nobody."""
    parts = entry.fields(*PLACED, "lookup", "fan_out")
    lookup = [part.text() for part in parts["lookup"].items()] if "lookup" in parts else []
    fan_out = parts["fan_out"].whole() if "fan_out" in parts else 1
    try:
        return core.PublicTable(
            entry.name,
            schema_of(entry.part("columns")),
            _location(entry, parts),
            core.Epoch(entry.part("epoch").text()),
            tuple(lookup),
            fan_out,
        )
    except TacitError as error:
        raise entry.fault(str(error)) from error


def _read_unit(entry: TomlEntry, parts: dict[str, TomlEntry]) -> core.UnitColumn | core.Link:
    if ("unit" in parts) == ("link" in parts):
        raise entry.fault(
            'Say how a row leads to its person, in one way: unit = "person", the column that '
            'names them, or link = { column = "patient", parent = "patients", '
            'parent_column = "id" }.'
        )
    if "unit" in parts:
        said = [
            parts[name].truth() if name in parts else False
            for name in ("one_row", "unique_by_constraint")
        ]
        return core.UnitColumn(parts["unit"].text(), *said)
    link = parts["link"]
    ends = link.fields("column", "parent", "parent_column", "unique_by_constraint")
    unique = ends["unique_by_constraint"].truth() if "unique_by_constraint" in ends else False
    column, parent, above = (
        link.part(name).text() for name in ("column", "parent", "parent_column")
    )
    return core.Link(column, parent, above, unique)


def _limits(entry: TomlEntry, parts: dict[str, TomlEntry]) -> core.Limits:
    in_all = parts["max_rows_in_all"].whole() if "max_rows_in_all" in parts else None
    return core.Limits(entry.part("max_groups").whole(), entry.part("max_rows").whole(), in_all)


def _location(entry: TomlEntry, parts: dict[str, TomlEntry]) -> core.Location:
    table = parts["table"].text() if "table" in parts else entry.name
    return core.Location(entry.part("engine").text(), tuple(table.split(".")))
