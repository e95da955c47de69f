"""One person more or less shows in nothing but noise: pairs written to break what broke others.

Record and replay on both engines. Each pair holds what a real system once went wrong on, so
that the bug is found by its pair alone, whatever is generated elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import inf, nan

import clinic
import hospital
import pytest
from hospital import Patient, Visit

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.catalog import Catalog, Limits
from tacit.core.loss import Loss
from tacit.core.sensitivity import Sensitivity
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import Engine
from tacit.engines.reference import Cell, Reference, Row
from tacit.numeric.entropy import SystemEntropy
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.sql.parser import parse

Tables = Mapping[tuple[str, ...], Sequence[Row]]
LOSS = Loss.zcdp("0.1", "1e-6")


def row(person: str | None, ward: str = "south", **cells: Cell) -> Row:
    return {**dict.fromkeys(clinic.TYPES), "person": person, "ward": ward, "age": 40} | cells


def people(count: int, **cells: Cell) -> list[Row]:
    return [row(f"p{number}", **cells) for number in range(count)]


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, and two tables that one person tells apart."""

    text: str
    limits: Limits
    without: Tables
    with_them: Tables

    @property
    def catalog(self) -> Catalog:
        linked = ("patients",) in self.without
        return (hospital if linked else clinic).catalog(self.limits)

    @property
    def quote(self) -> Quote:
        return price(parse(self.text, self.catalog), self.catalog, LOSS)


def visits(text: str, limits: Limits, others: list[Row], theirs: list[Row]) -> Pair:
    """A pair of the clinic; what is theirs stands first, so that an order would show it."""
    return Pair(text, limits, {clinic.TABLE: others}, {clinic.TABLE: [*theirs, *others]})


def labs() -> Pair:
    """A person of few visits with many labs each."""
    ann = Patient("ann", "Bern", tuple(Visit("north", 50, (5,) * 4) for _ in range(3)))
    bob = Patient("bob", "Bern", (Visit("north", 50, (1,)),))
    text = "SELECT AVG(value) FROM visits JOIN labs ON labs.visit = visits.id"
    return Pair(text, Limits(1, 2), hospital.tables([bob]), hospital.tables([ann, bob]))


PAIRS = {
    "a computed number counted": visits(
        "SELECT COUNT(pay * 2) FROM visits",
        Limits(1, 1),
        [*people(15, pay=1.0), row("odd", pay=nan)],
        [row("a", pay=1.0)],
    ),
    "a choice counted": visits(
        "SELECT COUNT(CASE WHEN pay < 1.5 THEN 0 WHEN pay >= 1.5 THEN 1 END) FROM visits",
        Limits(1, 1),
        [*people(15, pay=1.0), row("odd", pay=nan)],
        [row("a", pay=1.0)],
    ),
    "a sum beyond 31 bits": visits(
        "SELECT SUM(age * 10000001) FROM visits",
        Limits(1, 1),
        [row("p", age=120)],
        [row("a", age=120)],
    ),
    "numbers that are none": visits(
        "SELECT AVG(pay), SUM(pay) FROM visits",
        Limits(1, 6),
        people(99, pay=1.0),
        [row("a", pay=pay) for pay in (None, nan, inf, -inf, -0.0)],
    ),
    "a group before all others": visits(
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
        Limits(2, 1),
        people(20),
        [row("a", "north")],
    ),
    "many values in one group": visits(
        "SELECT ward, SUM(age) FROM visits GROUP BY ward",
        Limits(2, 3),
        people(20),
        [row("a", "north", age=120 - number % 3) for number in range(12)],
    ),
    "a mean of a product": visits(
        "SELECT AVG(age * 1000) FROM visits", Limits(1, 1), people(20), [row("a", age=120)]
    ),
    "a mean": visits(
        "SELECT ward, AVG(age) FROM visits GROUP BY ward", Limits(1, 1), people(20), [row("a")]
    ),
    "a mean that crosses a step": visits(
        "SELECT VARIANCE(CASE WHEN smoker THEN 2 ELSE 0 END) FROM visits",
        Limits(1, 1),
        [row(f"p{number}", smoker=number % 2 == 1) for number in range(99)],
        [row("a", smoker=True)],
    ),
    "a day far away": visits(
        "SELECT day, COUNT(*) FROM visits GROUP BY day",
        Limits(1, 1),
        people(20, day=date(2024, 11, 5)),
        [row("a", day=date(9999, 12, 31))],
    ),
    "rows that name nobody": visits(
        "SELECT COUNT(*), COUNT(DISTINCT person) FROM visits",
        Limits(1, 1),
        people(20),
        [row(None) for _ in range(10)],
    ),
    "many rows of another table": labs(),
}
ENGINES = ("reference", "duckdb")


def opened(kind: str, tables: Tables) -> Engine:
    if kind == "reference":
        return Reference(dict(tables))
    linked = ("patients",) in tables
    return DuckDB(
        hospital.database(tables) if linked else clinic.database(tables[clinic.TABLE])
    )


def replayed(pair: Pair, kind: str, quote: Quote) -> None:
    """Ask without the person, and again with them."""
    recording = RecordingGateway(SystemEntropy(b"charge"))
    first = run(quote, opened(kind, pair.without), pair.catalog, b"salt", recording)
    replaying = ReplayingGateway(recording.calls)
    second = run(quote, opened(kind, pair.with_them), pair.catalog, b"salt", replaying)
    replaying.finish()
    assert first == second


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_a_person_shows_in_nothing_but_noise(pair: Pair, kind: str) -> None:
    replayed(pair, kind, pair.quote)


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("name", ["a computed number counted", "a sum beyond 31 bits"])
def test_a_sensitivity_just_below_is_found(name: str, kind: str) -> None:
    pair, quote = PAIRS[name], PAIRS[name].quote
    (part,) = quote.tallies
    moved = part.sensitivity
    lower = replace(part, sensitivity=Sensitivity(moved.square - 1, moved.norm, moved.proof))
    with pytest.raises(BrokenPromise, match="changes by the square root of"):
        replayed(pair, kind, replace(quote, tallies=(lower,)))
