"""Populations of the project file: budgets, quotas and owners, and the declared facts.

Amounts are plain values as an owner wrote them; `tacit.session.changes` converts them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tacit import core
from tacit.errors import TacitError
from tacit.numeric import plain
from tacit.project.document import TomlEntry


@dataclass(frozen=True, slots=True)
class Allowance:
    """The amount of a budget or a quota: an epsilon or a rho, and a delta.

    An epsilon without a delta is pure. With a delta, both bound all releases together. For a
    rho, ``conversion_delta`` is the delta at which it is converted to an epsilon.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)
    conversion_delta: Fraction = Fraction(0)
    least: Fraction | None = None
    """The least price of a question, as a share of a budget; None for the default."""


def budget_in(entry: TomlEntry) -> Allowance:
    """Read a budget: ``{ epsilon = 3, delta = "1e-6", least = "1e-5" }``; least may be 0."""
    allowed = allowance_of(entry, "least")
    if allowed.least is not None and allowed.least > 1:
        raise entry.part("least").project_error(
            "least must be a share of the budget, from 0 to 1."
        )
    return allowed


def allowance_of(entry: TomlEntry, *more: str) -> Allowance:
    """Read a budget or a quota: ``{ epsilon = 3, delta = "1e-6" }``, or with ``rho``."""
    parts = entry.fields("epsilon", "rho", "delta", "conversion_delta", *more)
    if ("epsilon" in parts) == ("rho" in parts):
        raise entry.project_error(
            "Give the amount in one of two ways: epsilon = 3, or rho = 0.1."
        )
    numbers = {name: part.number() for name, part in parts.items()}
    for name, number in numbers.items():
        if number < 0 or (number == 0 and name in {"epsilon", "rho"}):
            least = "above 0" if name in {"epsilon", "rho"} else "0 or more"
            raise parts[name].project_error(f"{name} must be {least}.")
    return Allowance(**numbers)


# ------------------------------------------------------------------ people
# Populations of the project file: the privacy unit, the budget, and the owners who decide.

NEIGHBOURS = {each.value: each for each in core.Neighbours}


@dataclass(frozen=True, slots=True)
class PopulationSettings:
    """A population, its owners, its budget, and the quotas of analysts."""

    population: core.Population
    owners: tuple[str, ...]
    budget: Allowance
    quotas: tuple[tuple[str, Allowance], ...] = ()
    default_quota: Allowance | None = None
    """The quota of every analyst who has none of their own; None if the file has none."""


def people_of(entry: TomlEntry) -> PopulationSettings:
    """Read one population."""
    known = ("unit", "neighbours", "owners", "budget", "quotas", "default_quota")
    parts = entry.fields(*known)
    owners = tuple(owner.text() for owner in entry.part("owners").items())
    if not owners or len(set(owners)) != len(owners):
        raise parts["owners"].project_error(
            "A population must have at least one owner, and each is named once."
        )
    try:
        population = core.Population(
            entry.name, core.PrivacyUnit(entry.part("unit").text(), _of(parts))
        )
    except TacitError as error:
        raise entry.project_error(str(error)) from error
    quotas = parts["quotas"].parts() if "quotas" in parts else ()
    return PopulationSettings(
        population,
        owners,
        budget_in(entry.part("budget")),
        tuple((holder, allowance_of(quota)) for holder, quota in quotas),
        allowance_of(parts["default_quota"]) if "default_quota" in parts else None,
    )


def _of(parts: dict[str, TomlEntry]) -> core.Neighbours:
    if "neighbours" not in parts:
        return core.Neighbours.ADD_REMOVE
    if parts["neighbours"].value not in NEIGHBOURS:
        raise parts["neighbours"].project_error(
            f"neighbours must be one of: {', '.join(NEIGHBOURS)}."
        )
    return NEIGHBOURS[parts["neighbours"].text()]


# ------------------------------------------------------------------ facts
# The declarations of a catalogue about one population in words, one line for each fact. Owners
# record these lines in the ledger, so their words must never change.

EPOCH_FACT = re.compile(r""": epoch ('.*'|".*")$""", re.DOTALL)


def facts_of(catalog: core.Catalog, population: str) -> tuple[str, ...]:
    """Return all facts about the population's tables and the public tables, sorted.

    Guarantee: catalogues that differ in bounds, keys, limits, paths to the unit or epochs have
    different facts. The location of a table or of its copy is not a fact.
    """
    return tuple(sorted(fact.text for fact in facts_by_subject(catalog, population)))


@dataclass(frozen=True, slots=True)
class Fact:
    """One declared fact in words, with the table and, if it has one, the column it is about.

    Names may contain dots and colons, so the subject cannot be parsed from the words.
    """

    table: str
    column: str | None
    text: str
    is_state: bool = False
    """Whether the fact changes neither a price nor a released number.

    Such a fact is about the state of the table, its epoch or that it is in place, about how
    many rows a unit can have, or that every row has a listed key.
    """


def facts_by_subject(catalog: core.Catalog, population: str) -> tuple[Fact, ...]:
    """Return the facts of `facts_of`, each with the table and column that it is about."""
    private = [each for each in catalog.datasets if each.population == population]
    tables: list[core.Dataset | core.PublicTable] = [*private, *catalog.public]
    found: list[Fact] = []
    for table in tables:
        found += [Fact(table.name, None, text) for text in _table(table)]
        found += [Fact(table.name, None, text, is_state=True) for text in _state(table)]
        for column in table.schema.columns:
            said = f"{table.name}.{column.name}: {_column(column)}"
            found.append(Fact(table.name, column.name, said))
            if column.keys is not None and column.keys.complete:
                whole = f"{table.name}.{column.name}: every row has one of the keys"
                found.append(Fact(table.name, column.name, whole, is_state=True))
    return tuple(found)


def epoch_fact(table: core.Dataset | core.PublicTable) -> str:
    """Return the fact that states the epoch of a table."""
    return f"{table.name}: epoch {table.epoch.label!r}"


def is_epoch_fact(fact: str) -> bool:
    """Return whether a recorded fact may state an epoch.

    Example:
        >>> is_epoch_fact("visits: epoch '2026'"), is_epoch_fact("visits.age: integer")
        (True, False)
    """
    return EPOCH_FACT.search(fact) is not None


def _state(table: core.Dataset | core.PublicTable) -> Iterator[str]:
    if isinstance(table, core.Dataset) and table.in_place:
        yield f"{table.name}: served in place"
    if isinstance(table, core.Dataset) and table.most_rows is not None:
        most = table.most_rows
        yield f"{table.name}: nobody has more than {most.rows} rows ({most.source})"
    if isinstance(table, core.Dataset) and table.profile is not None:
        found = table.profile
        measured = f"measured for epoch {found.epoch!r}, 99%"
        beyond = f"at most {found.people} have more than {found.rows} rows ({measured})"
        charge = f", charge {found.release}" if found.release else ""
        yield f"{table.name}: {beyond}{charge}"
    for column in table.schema.columns:
        total = column.total_profile
        if total is not None:
            measured = f"measured for epoch {total.epoch!r}, 99%"
            above = f"a total above {plain(total.amount)} ({measured})"
            charge = f", charge {total.release}" if total.release else ""
            yield f"{table.name}.{column.name}: at most {total.people} have {above}{charge}"
    if isinstance(table, core.Dataset) and table.tail is not None:
        few = f"at most {table.tail.rows} further rows on average ({table.tail.source})"
        yield f"{table.name}: people beyond {table.tail.beyond} rows are assumed to have {few}"
    yield epoch_fact(table)


def _table(table: core.Dataset | core.PublicTable) -> Iterator[str]:
    if table.location.plugin is not None:
        yield f"{table.name}: read by the plug-in {table.location.plugin}"
    if isinstance(table, core.Dataset):
        way = table.unit
        if isinstance(way, core.UnitColumn):
            yield f"{table.name}: {way.column} names the unit{_one_row(way)}"
        else:
            kept = "kept unique" if way.unique_by_constraint else "said to be unique"
            yield (
                f"{table.name}: {way.column} leads to {way.parent}.{way.parent_column}, {kept}"
            )
        limits = table.limits
        yield f"{table.name}: at most {limits.max_groups} groups of {limits.max_rows} rows"
        if limits.max_rows_in_all is not None:
            yield f"{table.name}: at most {limits.max_rows_in_all} rows of a unit in all"
        if limits.max_length is not None:
            yield f"{table.name}: rows of a unit by group of length {plain(limits.max_length)}"
        if table.min_people is not None:
            yield f"{table.name}: cells of at least {table.min_people} units are shown"
        if table.row_key is not None:
            yield f"{table.name}: {table.row_key} tells the rows of a unit apart"
    else:
        yield f"{table.name}: about nobody"
        if table.lookup:
            rows = f"at most {table.fan_out} rows for a value"
            yield f"{table.name}: joined by {', '.join(table.lookup)}, {rows}"


def _one_row(way: core.UnitColumn) -> str:
    if not way.one_row:
        return ""
    return f", once each, {'kept' if way.unique_by_constraint else 'said to be'} unique"


def _column(column: core.Column) -> str:
    said = [column.kind.value]
    if column.stored is not None:
        said.append(f"stored as {column.stored.value}")
    if column.zone is not None:
        said.append(f"in the zone {column.zone!r}")
    if column.step is not None:
        said.append(f"steps of {plain(column.step)}")
    if column.bounds is not None:
        ends = f"{plain(column.bounds.lower)} to {plain(column.bounds.upper)}"
        said.append(f"from {ends} ({column.bounds.provenance.name.lower()})")
    if column.keys is not None:
        keys = ", ".join(map(repr, column.keys.values))
        said.append(f"one of {keys} ({column.keys.provenance.name.lower()})")
    if column.max_total is not None:
        said.append(f"totals of a unit up to {plain(column.max_total)}")
    return ", ".join(said)
