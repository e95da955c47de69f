"""COUNT(DISTINCT c): the values of the rows that count, and how far one person moves them."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import hospital
import pytest
from clinic import TABLE, catalog, database

from tacit.audit.replay import (
    BrokenPromise,
    RecordingGateway,
    ReplayingGateway,
    square_distance,
)
from tacit.core.catalog import Catalog, Limits, UnitColumn
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.core.sensitivity import Sensitivity
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import Engine, SecretTable
from tacit.engines.reference import Reference, Row
from tacit.errors import InvalidValue
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan, sensitivities
from tacit.plan.bounding import bound
from tacit.plan.tally import DistinctTally, UnitTally
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.query.quote import PricedTally, Quote
from tacit.query.sums_of_groups import finer_questions
from tacit.sql.parser import parse

DOCTORS = "SELECT ward, COUNT(DISTINCT doctor) AS n FROM visits GROUP BY ward"
LIMITS = Limits(max_groups=2, max_rows=3)
WARDS = ("north", "south", "it's", "")


def row(person: str, ward: str, doctor: str | None) -> Row:
    return {"person": person, "ward": ward, "doctor": doctor, "age": 1, "pay": 1.0}


OTHERS = [row(f"p{place % 9}", WARDS[place % 4], f"d{place % 7}") for place in range(60)]
THEIRS = [row("a", ward, f"new {ward} {place}") for ward in WARDS for place in range(9)]
ANOTHER = [row("a", ward, f"other {ward} {place}") for ward in WARDS for place in range(9)]

Make = Callable[[list[Row]], Engine]


def reference(rows: list[Row]) -> Engine:
    return Reference({TABLE: rows})


def on_duckdb(rows: list[Row]) -> Engine:
    return DuckDB(database(rows))


def counted(text: str, rows: list[Row], limits: Limits, make: Make = reference) -> list[int]:
    declared = catalog(limits)
    plan = bound(parse(text, declared), declared).plan
    return [int(each) for each in unseal(make(rows).run(plan, declared, b"salt").tallies[-1])]


@pytest.mark.parametrize("make", [reference, on_duckdb])
def test_values_of_several_people_count_once_and_null_never(make: Make) -> None:
    rows = [
        *(row("a", "north", "who"), row("b", "north", "who"), row("c", "north", None)),
        *(row("c", "north", "WHO"), row("d", "south", "")),
    ]
    assert counted(DOCTORS, rows, Limits(4, 9), make) == [2, 1, 0, 0]
    assert counted("SELECT COUNT(DISTINCT doctor) FROM visits", rows, LIMITS, make) == [3]
    small = "SELECT COUNT(DISTINCT CASE WHEN ward = 'south' THEN doctor END) FROM visits"
    assert counted(small, rows, LIMITS, make) == [1]


@pytest.mark.parametrize("make", [reference, on_duckdb])
@pytest.mark.parametrize("limits", [LIMITS, Limits(4, 2, 3), Limits(4, 2, 1), Limits(1, 2, 9)])
def test_a_person_brings_no_more_values_than_rows_that_count(
    make: Make, limits: Limits
) -> None:
    most = min(limits.max_rows, limits.max_rows_in_all or limits.max_rows)
    assert max(counted(DOCTORS, THEIRS, limits, make)) == most
    assert sum(counted(DOCTORS, THEIRS, limits, make)) <= most * limits.max_groups


def test_which_values_of_a_person_count_does_not_depend_on_other_people() -> None:
    alone = counted(DOCTORS, THEIRS, LIMITS)
    beside = counted(DOCTORS, [*OTHERS, *THEIRS], LIMITS)
    without = counted(DOCTORS, OTHERS, LIMITS)
    assert beside == [one + other for one, other in zip(alone, without, strict=True)]


# Sensitivity ---------------------------------------------------------------------------------


def quoted(
    neighbours: Neighbours, limits: Limits = LIMITS, text: str = DOCTORS
) -> tuple[Quote, Catalog]:
    declared = catalog(limits, neighbours)
    return price(parse(text, declared), declared, Loss.zcdp("0.1")), declared


def replayed(quote: Quote, declared: Catalog, before: list[Row], make: Make) -> None:
    """Ask about one table, and again about its neighbour."""
    recording = RecordingGateway(SystemEntropy(b"charge"))
    run(quote, make(before), declared, b"salt", recording)
    replaying = ReplayingGateway(recording.calls)
    run(quote, make([*OTHERS, *THEIRS]), declared, b"salt", replaying)
    replaying.finish()


def lowered(quote: Quote) -> Quote:
    """The lie that a person moves one value in one group less."""
    (part,) = quote.tallies
    moved = part.sensitivity
    lie = Sensitivity(moved.square - 1, moved.norm, moved.proof)
    return replace(quote, tallies=(PricedTally(part.mechanism, lie),))


@pytest.mark.parametrize("make", [reference, on_duckdb])
def test_a_person_moves_all_that_is_declared_and_not_more(make: Make) -> None:
    quote, declared = quoted(Neighbours.ADD_REMOVE)
    (part,) = quote.tallies
    assert part.sensitivity.square == 2 * 3**2
    replayed(quote, declared, OTHERS, make)
    with pytest.raises(BrokenPromise):
        replayed(lowered(quote), declared, OTHERS, make)


@pytest.mark.parametrize("make", [reference, on_duckdb])
def test_people_under_a_condition_move_by_one_each(make: Make) -> None:
    text = (
        "SELECT ward, COUNT(DISTINCT CASE WHEN doctor <> 'd1' THEN person END) AS n "
        "FROM visits GROUP BY ward"
    )
    quote, declared = quoted(Neighbours.ADD_REMOVE, text=text)
    (part,) = quote.tallies
    assert part.sensitivity.square == 2
    replayed(quote, declared, OTHERS, make)
    with pytest.raises(BrokenPromise):
        replayed(lowered(quote), declared, OTHERS, make)
    other, _ = quoted(Neighbours.ADD_REMOVE, text=text.replace("THEN person", "THEN doctor"))
    assert other.tallies[0].sensitivity.square == 2 * 3**2


def test_two_people_in_other_groups_move_all_that_is_declared_for_replacing_one() -> None:
    quote, declared = quoted(Neighbours.REPLACE_ONE)
    (part,) = quote.tallies
    assert part.sensitivity.square == 2 * 2 * 3**2
    first = [each for each in ANOTHER if each["ward"] in WARDS[:2]]
    second = [each for each in THEIRS if each["ward"] in WARDS[2:]]
    plan = quote.bound.plan
    found = [
        unseal(reference([*OTHERS, *rows]).run(plan, declared, b"salt").tallies[0])
        for rows in (first, second)
    ]
    moved = square_distance(found[0], found[1], part.sensitivity.norm)
    assert moved == part.sensitivity.square


def test_a_limit_on_the_length_of_a_vector_bounds_distinct_values_too() -> None:
    declared = catalog(Limits(4, 3, max_length=Fraction(4)))
    plan = bound(parse(DOCTORS, declared), declared).plan
    assert plan.max_squares == 16
    _, square = sensitivities(plan, plan.tallies[0], Neighbours.ADD_REMOVE)
    assert square.square == 16
    for make in (reference, on_duckdb):
        found = unseal(make(THEIRS).run(plan, declared, b"salt").tallies[0])
        assert 0 < sum(int(each) ** 2 for each in found) <= 16


class AllRows:
    """The lie of an engine that counts the values of every row of a unit."""

    def __init__(self, rows: list[Row]) -> None:
        self._inner = Reference({TABLE: rows})

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        return self._inner.run(replace(plan, max_rows=100), catalog, salt)


def test_an_engine_that_counts_the_values_of_all_rows_is_found() -> None:
    quote, declared = quoted(Neighbours.ADD_REMOVE)
    with pytest.raises(BrokenPromise):
        replayed(quote, declared, OTHERS, AllRows)


# What is counted, and what is known of it ----------------------------------------------------


def test_a_column_that_identifies_people_counts_them() -> None:
    declared = hospital.catalog(LIMITS)
    text = "SELECT ward, COUNT(DISTINCT patient) FROM visits GROUP BY ward"
    several = bound(parse(text, declared), declared).plan
    assert isinstance(several.tallies[0], DistinctTally)
    patients, *others = declared.datasets
    one = replace(
        declared, datasets=(replace(patients, unit=UnitColumn("person", True)), *others)
    )
    assert bound(parse(text, one), one).plan.tallies == (UnitTally(),)
    same = "SELECT COUNT(DISTINCT p.id) FROM patients p JOIN visits v ON p.id = v.patient"
    assert bound(parse(same, one), one).plan.tallies == (UnitTally(),)
    beside = "SELECT COUNT(DISTINCT visits.id) FROM visits"
    assert isinstance(bound(parse(beside, one), one).plan.tallies[0], DistinctTally)


def test_rows_that_are_left_out_open_the_upper_end_alone() -> None:
    declared = catalog(LIMITS)
    (slack,) = bound(parse(DOCTORS, declared), declared).slacks
    assert (slack.low, slack.high) == (True, False)
    (visits,) = declared.datasets
    whole = replace(visits, unit=UnitColumn("person", True), limits=Limits(1, 1))
    known = replace(declared, datasets=(whole,))
    (slack,) = bound(parse(DOCTORS, known), known).slacks
    assert (slack.low, slack.high) == (True, True)
    # floats that differ by less than a step are one value
    (slack,) = bound(parse("SELECT COUNT(DISTINCT pay) FROM visits", known), known).slacks
    assert not slack.high


def test_distinct_values_of_groups_are_not_added_up() -> None:
    declared = catalog(LIMITS)
    wards = replace(declared.datasets[0].schema["ward"].keys, complete=True)  # type: ignore[type-var]
    columns = tuple(
        replace(each, keys=wards) if each.name == "ward" else each
        for each in declared.datasets[0].schema.columns
    )
    (visits,) = declared.datasets
    schema = replace(visits.schema, columns=columns)
    declared = replace(declared, datasets=(replace(visits, schema=schema),))

    def finer(what: str) -> int:
        text = f"SELECT {what} FROM visits"  # noqa: S608 - our own words
        quote = price(parse(text, declared), declared, Loss.zcdp("0.1"))
        return len(list(finer_questions(quote)))

    assert finer("COUNT(doctor)") == 1
    assert finer("COUNT(DISTINCT doctor)") == 0


@pytest.mark.parametrize(
    ("what", "advice"),
    [
        ("COUNT(DISTINCT doctor, room)", "one column"),
        ("COUNT(DISTINCT CASE WHEN smoker THEN doctor ELSE ward END)", "THEN column END"),
        ("COUNT(DISTINCT age > 3)", "THEN column END"),
    ],
)
def test_what_cannot_be_counted_is_refused_with_advice(what: str, advice: str) -> None:
    declared = catalog(LIMITS)
    with pytest.raises(InvalidValue, match=advice):
        bound(parse(f"SELECT {what} FROM visits", declared), declared)  # noqa: S608
