"""Tables of the project file: columns with their public bounds and keys, and copies."""

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
STORED = {each.value: each for each in core.StoredAs}
PROVENANCES = {each.name.lower(): each for each in core.Provenance}
ENDS = 2


def schema_of(entry: TomlEntry) -> core.Schema:
    """Read the columns of a table."""
    return core.Schema(tuple(column_of(part) for _, part in entry.parts()))


def column_of(entry: TomlEntry) -> core.Column:
    """Read a column from the project file: its kind alone, or with its bounds or keys."""
    if isinstance(entry.value, str):
        return core.Column(entry.name, _kind(entry))
    totals = ("max_total", "total_profile")
    known = ("kind", "bounds", "keys", "complete", "step", "provenance", "stored", "zone")
    parts = entry.fields(*known, *totals)
    source = _provenance(parts)
    bounds = _bounds(parts["bounds"], source) if "bounds" in parts else None
    keys = _keys(parts["keys"], source) if "keys" in parts else None
    if "complete" in parts:
        if keys is None:
            raise parts["complete"].project_error(
                "complete says that every row has one of the keys; declare the keys too."
            )
        keys = replace(keys, complete=parts["complete"].truth())
    step, total = (
        parts[name].number() if name in parts else None for name in ("step", "max_total")
    )
    try:
        kind = _kind(entry.part("kind"))
        profile = _total_profile(parts["total_profile"]) if "total_profile" in parts else None
        form = _stored_type(parts["stored"]) if "stored" in parts else None
        zone = parts["zone"].text() if "zone" in parts else None
        return core.Column(entry.name, kind, bounds, keys, step, total, profile, form, zone)
    except TacitError as error:
        raise entry.project_error(str(error)) from error


def _kind(entry: TomlEntry) -> core.Kind:
    if entry.value not in KINDS:
        raise entry.project_error(f"The kind of a column must be one of: {', '.join(KINDS)}.")
    return KINDS[entry.text()]


def _stored_type(entry: TomlEntry) -> core.StoredAs:
    if entry.value not in STORED:
        raise entry.project_error(f"stored must be one of: {', '.join(STORED)}.")
    return STORED[entry.text()]


def _provenance(parts: dict[str, TomlEntry]) -> core.Provenance:
    """Read where bounds or keys are known from; this is required if there are any."""
    known = [parts[name] for name in ("bounds", "keys") if name in parts]
    if "provenance" not in parts:
        if known:
            raise known[0].project_error(
                'State where this is known from: provenance = "public" (known without the '
                f"data) or one of {', '.join(PROVENANCES)}."
            )
        return core.Provenance.PUBLIC
    if parts["provenance"].value not in PROVENANCES:
        raise parts["provenance"].project_error(
            f"provenance must be one of: {', '.join(PROVENANCES)}."
        )
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
        raise entry.project_error(str(error)) from error
    raise entry.project_error("Bounds must be two numbers or two days, the lower one first.")


def _keys(entry: TomlEntry, source: core.Provenance) -> core.Keys:
    values = tuple(item.value for item in entry.items())
    try:
        return core.Keys(values, source)
    except TacitError as error:
        raise entry.project_error(str(error)) from error


# ------------------------------------------------------------------ copies
# Copies of the project file: the place of each copy, and the declaration it was made from.
#
# The file records the declaration, the epoch and the salt with which a copy was made. If one of
# these differs from the current one, the copy is outdated: a session refuses it, and a server
# makes it again if it can.
#
# Each run that makes a copy has its own mark, which is part of the names of its tables. So a
# new copy is stored next to the old copy, which sessions read until the file names the new one.

FILES = (".duckdb", ".db")
PARTS = 2
TEXT_BYTES = 1_000
MARK_DIGITS = 8
"""The digits of a declaration's digest in the names of tables; a salt's mark has as many."""

MAKING_DIGITS = 12
MAKING = re.compile(f"[0-9a-f]{{{MAKING_DIGITS}}}")
"""The mark of one run that makes a copy, at the end of the names of its tables."""

MADE = "made: "
"""The start of the line in a copy's record that has the day on which copying started."""


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """The place of a copy: a schema, or a DuckDB file next to the project file.

    Without an ``epoch`` the copy is not made yet. ``order`` is the mark of the ledger's salt,
    and ``declaration`` is a digest of every fact that the copy depends on. ``made`` is the
    day on which copying started, and ``making`` is the mark of that run. Texts of more than
    ``text_bytes`` are NULL in the copy.

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
        """The DuckDB file of the copy, or None if the copy is in a schema."""
        return self.where if self.where.endswith(FILES) else None

    @property
    def path(self) -> tuple[str, ...]:
        """The qualifier of the copy's table names: a schema, or a file name and a schema."""
        return (self.where,) if self.file is None else (self.where, "main")

    @property
    def mark(self) -> str | None:
        """The end of the copy's table names; None for a copy that version 0.1.0 made.

        Copies of early versions of 0.2.0 have no mark of the run that made them.
        """
        if self.declaration is None or self.order is None:
            return None
        return self.declaration[:MARK_DIGITS] + self.order + (self.making or "")

    def for_new_copy(self, day: date, making: str) -> "CopyPlace":
        """Return the place of a new copy, which is made on ``day`` with the mark ``making``."""
        return replace(self, made=day.isoformat(), making=making)


def place_of(entry: TomlEntry) -> CopyPlace:
    """Read ``copy = { where = "main", epoch = "1", order = "5eed", ... }`` of a table."""
    texts = ("epoch", "order", "declaration", "made", "making")
    parts = entry.fields("where", "parts", "text_bytes", *texts)
    said = {name: parts[name].text() if name in parts else None for name in texts}
    numbers = {name: parts[name].whole() for name in ("parts", "text_bytes") if name in parts}
    for name, number in numbers.items():
        if number < 1:
            raise parts[name].project_error(f"{name!r} of a copy must be 1 or more.")
    try:
        date.fromisoformat(said["made"] or "2026-11-16")
    except ValueError as error:
        raise parts["made"].project_error(
            "'made' of a copy must be a day, such as 2026-11-16."
        ) from error
    if said["making"] is not None and not MAKING.fullmatch(said["making"]):
        raise parts["making"].project_error(
            f"'making' of a copy must be the {MAKING_DIGITS} digits that tacit prepare wrote. "
            "Make the copy again."
        )
    return CopyPlace(entry.part("where").text(), **numbers, **said)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """The plan of a table's copy: the path to its unit, its engine, and the copy's place.

    Rows of other tables refer to this table by its ``linked`` columns.
    """

    table: core.Dataset | core.PublicTable
    way: Sequence[core.Dataset]
    engine: EngineAddress
    place: CopyPlace
    linked: tuple[str, ...] = ()

    @property
    def parts(self) -> int:
        """The number of parts of the copy; a public table has one."""
        return self.place.parts if isinstance(self.table, core.Dataset) else 1

    @property
    def declaration(self) -> str:
        """A digest of every public fact that the copy's rows depend on.

        It changes with the unit, links, linked columns, row key, epoch, table, engine, columns
        and lengths of texts.
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
                f"{'' if each.stored is None else f' from {each.stored.value}'}"
                f"{'' if each.zone is None else f' in {each.zone!r}'}"
                for each in table.schema.columns
            ),
        ]
        if isinstance(table, core.Dataset) and core.keeps_order(table):
            facts.append(f"ordered by {table.row_key!r}")
        facts += [f"linked by {name!r}" for name in self.linked]
        return sha256("\n".join(("tacit copy 2", *facts)).encode()).hexdigest()

    @property
    def unique(self) -> tuple[str, ...]:
        """The columns in which each value of the copy occurs in one row only."""
        return (
            core.kept_unique(self.table, self.linked)
            if isinstance(self.table, core.Dataset)
            else ()
        )

    def final_place(self, order: str) -> CopyPlace:
        """Return the place of the finished copy; ``order`` is the mark of its salt."""
        label, digest = self.table.epoch.label, self.declaration[:16]
        return replace(self.place, epoch=label, order=order, declaration=digest)

    def copy_by(self, order: str) -> core.ValidatedCopy:
        """Return the copy that is made, or was made, with the salt that has this mark."""
        made = self.final_place(order)
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
        """Return the lines of the copy's record in the engine: its origin and its maker."""
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

    def reason_outdated(self) -> str | None:
        """Return why the copy that the file names is outdated, or None if it is not."""
        name, place = self.table.name, self.place
        if place.epoch != self.table.epoch.label:
            why = f"has the epoch {place.epoch!r}, and the table has {self.table.epoch.label!r}"
        elif place.declaration is None or place.order is None:
            why = "was made by an earlier version of Tacit, which did not validate it"
        elif place.declaration != self.declaration[:16]:
            why = "was made with another declaration of its unit, columns or place"
        else:
            return None
        # a server cuts this text at the semicolon, and adds its own advice
        return f"The copy of {name!r} {why}; make it again: tacit prepare {name}"


def day_in(facts: Sequence[str]) -> date | None:
    """Return the day on which a copy was made, from its record; None if it has no day.

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


def with_copy(copied: CopyPlan, entry: TomlEntry) -> core.Dataset | core.PublicTable:
    """Return the table with the copy that the file names."""
    try:
        made = copied.copy_by(copied.place.order or "")
        return replace(copied.table, copy=made)
    except TacitError as error:
        raise entry.project_error(str(error)) from error


def _describe_unit(dataset: core.Dataset) -> str:
    """Describe how the rows of a dataset lead to their unit."""
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
    "max_length",
    "row_key",
    "in_place",
    "most_rows",
    "profile",
    "tail",
    "min_people",
)
PLACED = ("engine", "table", "epoch", "columns", "copy")


def dataset_of(entry: TomlEntry) -> core.Dataset:
    """Read a dataset, which is a private table."""
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
            most_rows=_most_rows(parts["most_rows"]) if "most_rows" in parts else None,
            profile=_profile(parts["profile"]) if "profile" in parts else None,
            tail=_tail(parts["tail"]) if "tail" in parts else None,
            min_people=parts["min_people"].whole() if "min_people" in parts else None,
        )
    except TacitError as error:
        raise entry.project_error(str(error)) from error


def public_of(entry: TomlEntry) -> core.PublicTable:
    """Read a public table, which contains no personal data."""
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
        raise entry.project_error(str(error)) from error


def _read_unit(entry: TomlEntry, parts: dict[str, TomlEntry]) -> core.UnitColumn | core.Link:
    if ("unit" in parts) == ("link" in parts):
        raise entry.project_error(
            'Declare how a row leads to its person, in one of two ways: unit = "person", the '
            'column with the person, or link = { column = "patient", parent = "patients", '
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
    length = parts["max_length"].number() if "max_length" in parts else None
    return core.Limits(
        entry.part("max_groups").whole(), entry.part("max_rows").whole(), in_all, length
    )


def _most_rows(entry: TomlEntry) -> core.PublicMost:
    """Read ``most_rows = { rows = 12, source = "the clinic is open once a month" }``."""
    entry.fields("rows", "source")
    return core.PublicMost(entry.part("rows").whole(), entry.part("source").text())


def _profile(entry: TomlEntry) -> core.RowsProfile:
    """Read ``profile = { rows = 12, people = 24, epoch = "2026", release = "5eed" }``."""
    return core.RowsProfile(entry.part("rows").whole(), *_people_of_profile(entry, "rows"))


def _total_profile(entry: TomlEntry) -> core.TotalProfile:
    """Read ``total_profile = { amount = 8000, people = 24, epoch = "2026" }`` of a column."""
    return core.TotalProfile(
        entry.part("amount").number(), *_people_of_profile(entry, "amount")
    )


def _people_of_profile(entry: TomlEntry, limit: str) -> tuple[int, str, str]:
    """Read the people beyond the ``limit`` of a profile, its epoch, and its receipt if any."""
    parts = entry.fields(limit, "people", "epoch", "release")
    release = parts["release"].text() if "release" in parts else ""
    return entry.part("people").whole(), entry.part("epoch").text(), release


def _tail(entry: TomlEntry) -> core.TailAssumption:
    """Read ``tail = { beyond = 12, rows = 6, source = "the register of last year" }``."""
    entry.fields("rows", "source", "beyond")
    return core.TailAssumption(
        entry.part("rows").whole(), entry.part("source").text(), entry.part("beyond").whole()
    )


def _location(entry: TomlEntry, parts: dict[str, TomlEntry]) -> core.Location:
    table = parts["table"].text() if "table" in parts else entry.name
    return core.Location(entry.part("engine").text(), tuple(table.split(".")))
