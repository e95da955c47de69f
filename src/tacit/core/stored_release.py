"""Releases as bytes: what is kept in the ledger is what leaves, for ever."""

import json
from fractions import Fraction
from typing import Any

from tacit.core.event import Numerics
from tacit.core.guarantee import Guarantee
from tacit.core.keys import Key
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.population import Population
from tacit.core.release import Interval, Release, ReleasedColumn
from tacit.core.unit import Neighbours, PrivacyUnit
from tacit.errors import InvalidValue

FORMAT = 1


def encode(release: Release) -> bytes:
    """The canonical bytes of ``release``."""
    guarantee, loss = release.guarantee, release.guarantee.loss
    stored = {
        "tacit release": FORMAT,
        "columns": [_column(column) for column in release.columns],
        "population": guarantee.population.name,
        "unit": guarantee.population.unit.name,
        "neighbours": guarantee.population.unit.neighbours.value,
        "loss": [loss.measure.value, str(loss.amount), str(loss.delta)],
        "assumptions": list(guarantee.assumptions),
        "numerics": guarantee.numerics.value,
        "receipt": release.receipt.hex(),
    }
    return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()


def decode(stored: bytes) -> Release:
    """The release whose bytes are ``stored``.

    Guarantee: ``decode(encode(release)) == release``.
    """
    try:
        value = json.loads(stored)
        unit = PrivacyUnit(value["unit"], Neighbours(value["neighbours"]))
        measure, amount, delta = value["loss"]
        guarantee = Guarantee(
            Population(value["population"], unit),
            Loss(Measure(measure), Fraction(amount), Fraction(delta)),
            tuple(value["assumptions"]),
            Numerics(value["numerics"]),
        )
        columns = tuple(_read(column) for column in value["columns"])
        return Release(columns, guarantee, bytes.fromhex(value["receipt"]))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise InvalidValue("These are not the bytes of a release.") from error


def _column(column: ReleasedColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "values": [_store(value) for value in column.values],
        "intervals": [_ends(interval) for interval in column.intervals],
        "confidence": None if column.confidence is None else str(column.confidence),
    }


def _read(stored: dict[str, Any]) -> ReleasedColumn:
    confidence = stored["confidence"]
    return ReleasedColumn(
        stored["name"],
        tuple(_restore(value) for value in stored["values"]),
        tuple(_interval(ends) for ends in stored["intervals"]),
        None if confidence is None else Fraction(confidence),
    )


def _ends(interval: Interval | None) -> list[str] | None:
    return None if interval is None else [str(end) for end in interval]


def _interval(ends: list[str] | None) -> Interval | None:
    return None if ends is None else (Fraction(ends[0]), Fraction(ends[1]))


def _store(value: Fraction | Key | None) -> Any:
    """Numbers with noise as text in a list, so that they are not taken for keys."""
    return [str(value)] if isinstance(value, Fraction) else value


def _restore(stored: Any) -> Fraction | Key | None:
    if isinstance(stored, list):
        return Fraction(stored[0])
    key: Key | None = stored
    return key
