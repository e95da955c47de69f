"""Columns of the project file: kinds, and what is publicly known, and from where."""

from datetime import date
from fractions import Fraction

from tacit.core.bounds import Bounds, Provenance
from tacit.core.column import Column, Kind
from tacit.core.keys import Keys
from tacit.core.schema import Schema
from tacit.errors import TacitError
from tacit.project.entry import Entry

KINDS = {kind.value: kind for kind in Kind}
PROVENANCES = {each.name.lower(): each for each in Provenance}
ENDS = 2


def schema_of(entry: Entry) -> Schema:
    """The columns of a table."""
    return Schema(tuple(column_of(part) for _, part in entry.parts()))


def column_of(entry: Entry) -> Column:
    """A column: its kind alone, or a table with what is known of its values."""
    if isinstance(entry.value, str):
        return Column(entry.name, _kind(entry))
    parts = entry.fields("kind", "bounds", "keys", "step", "provenance")
    source = _provenance(parts)
    bounds = _bounds(parts["bounds"], source) if "bounds" in parts else None
    keys = _keys(parts["keys"], source) if "keys" in parts else None
    step = parts["step"].number() if "step" in parts else None
    try:
        return Column(entry.name, _kind(entry.part("kind")), bounds, keys, step)
    except TacitError as error:
        raise entry.fault(str(error)) from error


def _kind(entry: Entry) -> Kind:
    if entry.value not in KINDS:
        raise entry.fault(f"A column is one of: {', '.join(KINDS)}.")
    return KINDS[entry.text()]


def _provenance(parts: dict[str, Entry]) -> Provenance:
    """Where the knowledge comes from; it is said wherever something is known."""
    known = [parts[name] for name in ("bounds", "keys") if name in parts]
    if "provenance" not in parts:
        if known:
            raise known[0].fault(
                f'Say where this is known from: provenance = "public" (known without the '
                f"data) or one of {', '.join(PROVENANCES)}."
            )
        return Provenance.PUBLIC
    if parts["provenance"].value not in PROVENANCES:
        raise parts["provenance"].fault(f"Provenance is one of: {', '.join(PROVENANCES)}.")
    return PROVENANCES[parts["provenance"].text()]


def _bounds(entry: Entry, source: Provenance) -> Bounds:
    ends = [end.number_or_day() for end in entry.items()]
    try:
        match ends:
            case [date() as first, date() as last]:
                return Bounds.days(first, last, source)
            case [Fraction() as lower, Fraction() as upper]:
                return Bounds(lower, upper, source)
    except TacitError as error:
        raise entry.fault(str(error)) from error
    raise entry.fault("Bounds are two numbers or two days, the lower one first.")


def _keys(entry: Entry, source: Provenance) -> Keys:
    values = tuple(item.value for item in entry.items())
    try:
        return Keys(values, source)
    except TacitError as error:
        raise entry.fault(str(error)) from error
