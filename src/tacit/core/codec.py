"""Encoders and decoders of catalogs, events, releases, losses and budget summaries.

Catalogs, losses and summaries are encoded as plain values for JSON, for clients of a server.
Events and releases are encoded as canonical text or bytes, which ledgers store forever; equal
values have equal encodings, so that hashes of them can be compared.
"""

import json
import re
from dataclasses import asdict, fields
from datetime import date
from fractions import Fraction
from numbers import Rational
from typing import Any, get_args, get_origin, get_type_hints

from tacit.core import catalog as catalogs
from tacit.core import domain
from tacit.core import event as events
from tacit.core.contributions import (
    Limits,
    PublicMost,
    RowsProfile,
    TailAssumption,
    TotalProfile,
)
from tacit.core.loss import Loss, Measure
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.core.release import (
    BudgetSummary,
    Guarantee,
    Interval,
    Release,
    ReleaseDates,
    ReleasedColumn,
)
from tacit.errors import InvalidValue, TacitError
from tacit.numeric import exact, plain

ELSEWHERE = "elsewhere"
"""Engine name in the locations of a decoded catalog: the true locations are not encoded."""

# ------------------------------------------------------------------ catalogs


def encode_catalog(catalog: catalogs.Catalog) -> dict[str, Any]:
    """Return ``catalog`` as plain values, without the locations of its tables."""
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


def decode_catalog(told: dict[str, Any]) -> catalogs.Catalog:
    """Return the catalog from its plain values.

    Guarantee: a question has the same plan and price with ``decode(encode(catalog))`` as with
    ``catalog``.
    """
    try:
        return catalogs.Catalog(
            tuple(_population(each) for each in told["populations"]),
            tuple(_read_dataset(each) for each in told["datasets"]),
            tuple(_read_public(each) for each in told["public"]),
        )
    except TacitError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue(
            "These values cannot be decoded as a catalog. They were changed, or another "
            "version of Tacit wrote them."
        ) from error


def _dataset(dataset: catalogs.Dataset) -> dict[str, Any]:
    way, limits = dataset.unit, dataset.limits
    leads = {name: getattr(way, name) for name in way.__dataclass_fields__}
    return _table(dataset) | {
        "population": dataset.population,
        "unit" if isinstance(way, catalogs.UnitColumn) else "link": leads,
        "max_groups": limits.max_groups,
        "max_rows": limits.max_rows,
        "max_rows_in_all": limits.max_rows_in_all,
        **({} if limits.max_length is None else {"max_length": plain(limits.max_length)}),
        "row_key": dataset.row_key,
        **({} if dataset.min_people is None else {"min_people": dataset.min_people}),
        **{
            name: asdict(fact)
            for name, fact in (
                ("most_rows", dataset.most_rows),
                ("profile", dataset.profile),
                ("tail", dataset.tail),
            )
            if fact is not None
        },
    }


def _public(table: catalogs.PublicTable) -> dict[str, Any]:
    joined = {"lookup": list(table.lookup), "fan_out": table.fan_out} if table.lookup else {}
    return _table(table) | joined


def _table(table: catalogs.Dataset | catalogs.PublicTable) -> dict[str, Any]:
    columns = [_store_column(column) for column in table.schema.columns]
    return {"name": table.name, "epoch": table.epoch.label, "columns": columns}


def _store_column(column: domain.Column) -> dict[str, Any]:
    stored: dict[str, Any] = {"name": column.name, "kind": column.kind.value}
    if column.bounds is not None:
        ends = [_end(column, end) for end in (column.bounds.lower, column.bounds.upper)]
        stored |= {"bounds": [*ends, column.bounds.provenance.name.lower()]}
    if column.keys is not None:
        stored |= {
            "keys": list(column.keys.values),
            "keys_are": column.keys.provenance.name.lower(),
        }
        stored |= {"keys_complete": True} if column.keys.complete else {}
    more = {"step": column.step, "max_total": column.max_total}
    stored |= {name: plain(each) for name, each in more.items() if each is not None}
    if column.total_profile is not None:
        found = asdict(column.total_profile)
        stored["total_profile"] = found | {"amount": plain(found["amount"])}
    if column.stored is not None:
        stored["stored"] = column.stored.value
    if column.zone is not None:
        stored["zone"] = column.zone
    return stored


def _end(column: domain.Column, end: Fraction) -> str:
    return domain.day_of(int(end)).isoformat() if column.kind in domain.DAYS else plain(end)


def _population(stored: dict[str, Any]) -> Population:
    return Population(
        stored["name"], PrivacyUnit(stored["unit"], Neighbours(stored["neighbours"]))
    )


def _read_dataset(stored: dict[str, Any]) -> catalogs.Dataset:
    name, schema, location, epoch = _read_table(stored)
    way = (
        catalogs.UnitColumn(**stored["unit"])
        if "unit" in stored
        else catalogs.Link(**stored["link"])
    )
    length = exact(stored["max_length"]) if "max_length" in stored else None
    limits = Limits(stored["max_groups"], stored["max_rows"], stored["max_rows_in_all"], length)
    people, row_key = stored["population"], stored["row_key"]
    known: dict[str, Any] = {
        fact: made(**stored[fact])
        for fact, made in (
            ("most_rows", PublicMost),
            ("profile", RowsProfile),
            ("tail", TailAssumption),
        )
        if fact in stored
    }
    known["min_people"] = stored.get("min_people")
    return catalogs.Dataset(
        name, people, schema, way, limits, location, epoch, row_key, **known
    )


def _read_public(stored: dict[str, Any]) -> catalogs.PublicTable:
    # a server of version 0.1.0 sends neither lookup nor fan_out
    return catalogs.PublicTable(
        *_read_table(stored), tuple(stored.get("lookup", ())), stored.get("fan_out", 1)
    )


def _read_table(
    stored: dict[str, Any],
) -> tuple[str, domain.Schema, catalogs.Location, catalogs.Epoch]:
    name = stored["name"]
    schema = domain.Schema(tuple(_read_column(column) for column in stored["columns"]))
    return name, schema, catalogs.Location(ELSEWHERE, (name,)), catalogs.Epoch(stored["epoch"])


def _read_column(stored: dict[str, Any]) -> domain.Column:
    kind, bounds, keys = domain.Kind(stored["kind"]), None, None
    if "bounds" in stored:
        lower, upper, known = stored["bounds"]
        bounds = domain.Bounds(
            _read_end(kind, lower), _read_end(kind, upper), _provenance(known)
        )
    if "keys" in stored:
        complete = stored.get("keys_complete", False)
        keys = domain.Keys(tuple(stored["keys"]), _provenance(stored["keys_are"]), complete)
    step, total = (
        exact(stored[name]) if name in stored else None for name in ("step", "max_total")
    )
    found = stored.get("total_profile")
    if found is not None:
        found = TotalProfile(**found | {"amount": exact(found["amount"])})
    form = domain.StoredAs(stored["stored"]) if "stored" in stored else None
    zone = stored.get("zone")
    return domain.Column(stored["name"], kind, bounds, keys, step, total, found, form, zone)


def _read_end(kind: domain.Kind, stored: str) -> Fraction:
    return (
        Fraction(domain.number_of(date.fromisoformat(stored)))
        if kind in domain.DAYS
        else exact(stored)
    )


def _provenance(stored: str) -> domain.Provenance:
    return domain.Provenance[stored.upper()]


# ------------------------------------------------------------------ events
# Ledgers store events as canonical text: JSON with sorted keys, without spaces, and with
# fractions as ``"p/q"``. Equal events have equal text. Old texts must be readable forever.

EVENTS: dict[str, type[events.Event]] = {
    "nothing": events.Nothing,
    "laplace": events.LaplaceNoise,
    "gaussian": events.GaussianNoise,
    "truncated laplace": events.TruncatedLaplaceNoise,
    "ball": events.BallNoise,
    "cube": events.CubeNoise,
    "exponential": events.ExponentialSelection,
    "permute and flip": events.PermuteAndFlipSelection,
    "randomised response": events.RandomisedResponseEvent,
    "keys": events.KeySelection,
    "above threshold": events.AboveThreshold,
    "lomax": events.LomaxNoise,
    "student": events.StudentNoise,
    "smooth laplace": events.SmoothLaplaceNoise,
    "propose test release": events.ProposeTestReleaseEvent,
    "real gaussian": events.RealGaussianNoise,
    "composed": events.Composed,
    "repeated": events.Repeated,
    "sampled": events.Sampled,
    "laplace 2": events.LaplaceNoiseV2,
    "truncated laplace 2": events.TruncatedLaplaceNoiseV2,
    "ball 2": events.BallNoiseV2,
    "cube 2": events.CubeNoiseV2,
    "permute and flip 2": events.PermuteAndFlipSelectionV2,
    "randomised response 2": events.RandomisedResponseEventV2,
    "keys 2": events.KeySelectionV2,
    "above threshold 2": events.AboveThresholdV2,
    "lomax 2": events.LomaxNoiseV2,
    "student 2": events.StudentNoiseV2,
    "propose test release 2": events.ProposeTestReleaseEventV2,
    "delay": events.DelayNoise,
}
"""The stored name of each event. A name is never reused and never removed."""

Stored = str | int | list["Stored"] | dict[str, "Stored"]

FRACTION = re.compile(r"-?[0-9]{1,1000}(/[0-9]{1,1000})?")
"""Pattern of a stored fraction; its length is limited."""

_NAMES = {event: name for name, event in EVENTS.items()}


def encode_event(event: events.Event) -> str:
    """Return the canonical text of ``event``.

    Guarantee: equal events have equal text.

    Example:
        >>> encode_event(events.LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10, 3)))
        '{"kind":"laplace","scale":"10/3","sensitivity":"1"}'
    """
    return json.dumps(_store_event(events.Event, event), sort_keys=True, separators=(",", ":"))


def decode_event(text: str) -> events.Event:
    """Return the event whose canonical text is ``text``.

    Guarantee: ``decode(encode(event)) == event``, and every text that is not the canonical text
    of an event is refused.

    Example:
        >>> decode_event('{"kind":"laplace","scale":"10/3","sensitivity":"1"}')
        LaplaceNoise(sensitivity=Fraction(1, 1), scale=Fraction(10, 3))
    """
    try:
        event = _restore_event(events.Event, json.loads(text))
        canonical = isinstance(event, events.Event) and encode_event(event) == text
    except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise InvalidValue(
            "This text cannot be decoded as an event. It was changed, or another version of "
            "Tacit wrote it."
        ) from error
    if not isinstance(event, events.Event) or not canonical:
        raise InvalidValue(
            "This text is not the canonical text of an event. It was changed, or another "
            "version of Tacit wrote it."
        )
    return event


def _store_event(declared: object, value: object) -> Stored:
    """Return the stored form of ``value``, by the declared type of its field."""
    if declared is events.Event and isinstance(value, events.Event) and type(value) in _NAMES:
        hints = get_type_hints(type(value))
        parts = {
            field.name: _store_event(hints[field.name], getattr(value, field.name))
            for field in fields(value)
        }
        return {"kind": _NAMES[type(value)], **parts}
    if get_origin(declared) is tuple and isinstance(value, tuple):
        return [_store_event(get_args(declared)[0], part) for part in value]
    if declared is Fraction and isinstance(value, Rational):
        return str(Fraction(value))
    if declared is int and type(value) is int:
        return value
    raise InvalidValue(
        "An event can hold only listed events, fractions and integers, and not "
        f"{type(value).__name__}."
    )


def _restore_event(declared: object, stored: Stored) -> object:
    match stored:
        case dict() if declared is events.Event:
            event = EVENTS[str(stored["kind"])]
            hints = get_type_hints(event)
            given = {name: part for name, part in stored.items() if name != "kind"}
            return event(
                **{name: _restore_event(hints[name], part) for name, part in given.items()}
            )
        case list() if get_origin(declared) is tuple:
            return tuple(_restore_event(get_args(declared)[0], part) for part in stored)
        case str() if declared is Fraction and FRACTION.fullmatch(stored):
            return Fraction(stored)
        case int() if declared is int:
            return stored
    raise InvalidValue(
        "A field of a stored event has the wrong form, so the event was changed."
    )


# ------------------------------------------------------------------ releases
# The ledger stores the bytes of a release, and a repeated request returns the same bytes.

FORMAT = 1


def encode_release(release: Release) -> bytes:
    """Return the canonical bytes of ``release``."""
    guarantee = release.guarantee
    stored = {
        "tacit release": FORMAT,
        "columns": [_release_column(column) for column in release.columns],
        "coverage": list(release.coverage),
        "population": guarantee.population.name,
        "unit": guarantee.population.unit.name,
        "neighbours": guarantee.population.unit.neighbours.value,
        "loss": _loss_parts(guarantee.loss),
        "assumptions": list(guarantee.assumptions),
        "numerics": guarantee.numerics.value,
        "receipt": release.receipt.hex(),
        **({} if release.dates is None else {"dates": release.dates.to_dict()}),
        **({} if guarantee.time is None else {"time": _loss_parts(guarantee.time)}),
    }
    return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()


def decode_release(stored: bytes) -> Release:
    """Return the release whose encoding is ``stored``.

    Guarantee: ``decode(encode(release)) == release``.
    """
    try:
        value = json.loads(stored)
        unit = PrivacyUnit(value["unit"], Neighbours(value["neighbours"]))
        guarantee = Guarantee(
            Population(value["population"], unit),
            _loss_of_parts(value["loss"]),
            tuple(value["assumptions"]),
            events.Numerics(value["numerics"]),
            _loss_of_parts(value["time"]) if "time" in value else None,
        )
        columns = tuple(_read(column) for column in value["columns"])
        receipt = bytes.fromhex(value["receipt"])
        coverage, told = _coverage(value, columns), value.get("dates")
        dates = None if told is None else ReleaseDates.from_dict(told)
        return Release(columns, guarantee, receipt, coverage=coverage, dates=dates)
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise InvalidValue(
            "These bytes cannot be decoded as a release. They were changed, or another version "
            "of Tacit wrote them."
        ) from error


def _loss_parts(loss: Loss) -> list[str]:
    return [loss.measure.value, str(loss.amount), str(loss.delta)]


def _loss_of_parts(parts: list[str]) -> Loss:
    measure, amount, delta = parts
    return Loss(Measure(measure), Fraction(amount), Fraction(delta))


EARLIER = (
    "An earlier version of Tacit made this release. Its intervals cover the noise alone, and "
    "not the rows above the contribution limits."
)


def _coverage(stored: dict[str, Any], columns: tuple[ReleasedColumn, ...]) -> tuple[str, ...]:
    if "coverage" in stored:
        return tuple(map(str, stored["coverage"]))
    noisy = any(column.confidence is not None for column in columns)
    return (EARLIER,) if noisy else ()


def _release_column(column: ReleasedColumn) -> dict[str, Any]:
    counted = [_ends(interval) for interval in column.counted]
    return {
        "name": column.name,
        "values": [_store_value(value) for value in column.values],
        "intervals": [_ends(interval) for interval in column.intervals],
        "confidence": None if column.confidence is None else str(column.confidence),
        **({"counted": counted} if counted else {}),
        **({} if column.all_but is None else {"all_but": column.all_but}),
        **({"rows": list(column.rows)} if column.rows else {}),
    }


def _read(stored: dict[str, Any]) -> ReleasedColumn:
    confidence = stored["confidence"]
    return ReleasedColumn(
        stored["name"],
        tuple(_restore_value(value) for value in stored["values"]),
        tuple(_interval(ends) for ends in stored["intervals"]),
        None if confidence is None else Fraction(confidence),
        tuple(_interval(ends) for ends in stored.get("counted", ())),
        stored.get("all_but"),
        tuple(stored.get("rows", ())),
    )


def _ends(interval: Interval | None) -> list[str | None] | None:
    if interval is None:
        return None
    return [None if end is None else str(end) for end in interval]


def _interval(ends: list[str | None] | None) -> Interval | None:
    if ends is None:
        return None
    low, high = (None if end is None else Fraction(end) for end in ends)
    return low, high


def _store_value(value: Fraction | domain.Key | None) -> Any:
    """Return the stored form of a value; a number is text in a list, to differ from keys."""
    return [str(value)] if isinstance(value, Fraction) else value


def _restore_value(stored: Any) -> Fraction | domain.Key | None:
    if isinstance(stored, list):
        return Fraction(stored[0])
    key: domain.Key | None = stored
    return key


# ------------------------------------------------------------------ losses and summaries

LOSSES = ("cost", "spent", "cap", "total", "promised")


def encode_loss(loss: Loss) -> dict[str, str]:
    """Return the measure, the amount and the delta of a loss, as exact text.

    Example:
        >>> encode_loss(Loss.zcdp("0.05"))
        {'measure': 'rho with delta', 'amount': '0.05', 'delta': '0'}
    """
    amount, delta = plain(loss.amount), plain(loss.delta)
    return {"measure": loss.measure.value, "amount": amount, "delta": delta}


def decode_loss(told: dict[str, str]) -> Loss:
    """Return the loss from its plain values."""
    try:
        measure = Measure(told["measure"])
        return Loss(measure, exact(told["amount"]), exact(told["delta"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue(
            "These values cannot be decoded as a loss. They were changed, or another version "
            "of Tacit wrote them."
        ) from error


def encode_budget_summary(standing: BudgetSummary) -> dict[str, Any]:
    """Return a budget summary as plain values."""
    losses = {name: encode_loss(getattr(standing, name)) for name in LOSSES}
    stopped = {"stopped": standing.stopped} if standing.stopped else {}
    return {"population": standing.population, **losses, "more": standing.more, **stopped}


def decode_budget_summary(told: dict[str, Any]) -> BudgetSummary:
    """Return the budget summary from its plain values.

    Guarantee: ``decode(encode(standing)) == standing``.
    """
    try:
        cost, spent, cap, total, promised = (decode_loss(told[name]) for name in LOSSES)
        losses, more = (cost, spent, cap, total, promised), int(told["more"])
        stopped = str(told.get("stopped", ""))
        return BudgetSummary(told["population"], *losses, more=more, stopped=stopped)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue(
            "These values cannot be decoded as a budget summary. They were changed, or another "
            "version of Tacit wrote them."
        ) from error
