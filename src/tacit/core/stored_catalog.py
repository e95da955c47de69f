"""What may be asked about as plain values: for whoever is not where the tables are."""

from datetime import date
from fractions import Fraction
from typing import Any

from tacit.core.bounds import Bounds, Provenance
from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset, Epoch, Limits, Link, Location, UnitColumn
from tacit.core.day import day_of, number_of
from tacit.core.keys import Keys
from tacit.core.population import Population
from tacit.core.public_table import PublicTable
from tacit.core.schema import Schema
from tacit.core.unit import Neighbours, PrivacyUnit
from tacit.errors import InvalidValue, TacitError
from tacit.numeric.exact import exact, plain

ELSEWHERE = "elsewhere"
"""Where the tables of a catalogue live that was told: that is not told."""


def encode(catalog: Catalog) -> dict[str, Any]:
    """The populations, datasets and public tables of ``catalog``, but not where they live."""
    return {
        "populations": [
            {
                "name": each.name,
                "unit": each.unit.name,
                "neighbours": each.unit.neighbours.value,
            }
            for each in catalog.populations
        ],
        "datasets": [_dataset(each) for each in catalog.datasets],
        "public": [_public(each) for each in catalog.public],
    }


def decode(told: dict[str, Any]) -> Catalog:
    """The catalogue that was told as ``told``.

    Guarantee: questions about ``decode(encode(catalog))`` have the plans and prices of those
    about ``catalog``.
    """
    try:
        return Catalog(
            tuple(_population(each) for each in told["populations"]),
            tuple(_read_dataset(each) for each in told["datasets"]),
            tuple(_read_public(each) for each in told["public"]),
        )
    except TacitError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue("This is not a catalogue.") from error


def _dataset(dataset: Dataset) -> dict[str, Any]:
    way, limits = dataset.unit, dataset.limits
    leads = {name: getattr(way, name) for name in way.__dataclass_fields__}
    return _table(dataset) | {
        "population": dataset.population,
        "unit" if isinstance(way, UnitColumn) else "link": leads,
        "max_groups": limits.max_groups,
        "max_rows": limits.max_rows,
        "max_rows_in_all": limits.max_rows_in_all,
        "row_key": dataset.row_key,
    }


def _public(table: PublicTable) -> dict[str, Any]:
    joined = {"lookup": list(table.lookup), "fan_out": table.fan_out} if table.lookup else {}
    return _table(table) | joined


def _table(table: Dataset | PublicTable) -> dict[str, Any]:
    columns = [_column(column) for column in table.schema.columns]
    return {"name": table.name, "epoch": table.epoch.label, "columns": columns}


def _column(column: Column) -> dict[str, Any]:
    told: dict[str, Any] = {"name": column.name, "kind": column.kind.value}
    if column.bounds is not None:
        ends = [_end(column, end) for end in (column.bounds.lower, column.bounds.upper)]
        told |= {"bounds": [*ends, column.bounds.provenance.name.lower()]}
    if column.keys is not None:
        told |= {
            "keys": list(column.keys.values),
            "keys_are": column.keys.provenance.name.lower(),
        }
    return told | ({} if column.step is None else {"step": plain(column.step)})


def _end(column: Column, end: Fraction) -> str:
    return day_of(int(end)).isoformat() if column.kind is Kind.DATE else plain(end)


def _population(told: dict[str, Any]) -> Population:
    return Population(told["name"], PrivacyUnit(told["unit"], Neighbours(told["neighbours"])))


def _read_dataset(told: dict[str, Any]) -> Dataset:
    name, schema, location, epoch = _read_table(told)
    way = UnitColumn(**told["unit"]) if "unit" in told else Link(**told["link"])
    limits = Limits(told["max_groups"], told["max_rows"], told["max_rows_in_all"])
    people, row_key = told["population"], told["row_key"]
    return Dataset(name, people, schema, way, limits, location, epoch, row_key)


def _read_public(told: dict[str, Any]) -> PublicTable:
    # a server of version 0.1.0 tells of neither
    return PublicTable(
        *_read_table(told), tuple(told.get("lookup", ())), told.get("fan_out", 1)
    )


def _read_table(told: dict[str, Any]) -> tuple[str, Schema, Location, Epoch]:
    name = told["name"]
    schema = Schema(tuple(_read_column(column) for column in told["columns"]))
    return name, schema, Location(ELSEWHERE, (name,)), Epoch(told["epoch"])


def _read_column(told: dict[str, Any]) -> Column:
    kind, bounds, keys = Kind(told["kind"]), None, None
    if "bounds" in told:
        lower, upper, known = told["bounds"]
        bounds = Bounds(_read_end(kind, lower), _read_end(kind, upper), _known(known))
    if "keys" in told:
        keys = Keys(tuple(told["keys"]), _known(told["keys_are"]))
    step = exact(told["step"]) if "step" in told else None
    return Column(told["name"], kind, bounds, keys, step)


def _read_end(kind: Kind, told: str) -> Fraction:
    return Fraction(number_of(date.fromisoformat(told))) if kind is Kind.DATE else exact(told)


def _known(told: str) -> Provenance:
    return Provenance[told.upper()]
