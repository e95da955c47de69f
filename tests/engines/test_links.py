"""Joins along declared links: what they mean, and that one person stays one person."""

from dataclasses import replace

import pytest
from engines_over import duckdb_over
from hospital import PEOPLE, Patient, Visit, catalog, hospitals, patient, tables
from hypothesis import given
from hypothesis import strategies as st

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.core.unseal import unseal
from tacit.engines.engine import SecretTable
from tacit.engines.reference import Reference
from tacit.errors import InvalidValue, TacitError
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.plan.plan import JoinPublic, Scan
from tacit.plan.source import JoinedTable, Source, assumptions, source_of
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.sql.parser import parse

QUESTIONS = (
    "SELECT ward, COUNT(*), AVG(age) FROM visits GROUP BY ward",
    """SELECT COUNT(DISTINCT person), SUM(value) FROM labs
    JOIN visits ON labs.visit = visits.id JOIN patients ON patients.id = visits.patient""",
    """SELECT city, ward, SUM(value * age) FROM labs l JOIN visits v ON v.id = l.visit
    JOIN patients p ON v.patient = p.id WHERE value > -3 GROUP BY ward, city""",
    "SELECT city, COUNT(*) FROM patients p JOIN visits v ON p.id = v.patient GROUP BY city",
    "SELECT COUNT(value) FROM labs WHERE value <> 0",
    """WITH old AS (SELECT id, ward FROM visits WHERE age >= 60)
    SELECT ward, COUNT(*) FROM old GROUP BY ward""",
    """SELECT AVG(s), COUNT(*) FROM (SELECT person, SUM(value) AS s, MAX(age) AS a FROM labs
    JOIN visits ON visit = visits.id JOIN patients ON patient = patients.id GROUP BY person)
    WHERE a > 20""",
    """WITH t AS (SELECT person, ward, city, COUNT(age) AS n FROM visits v
    JOIN patients p ON v.patient = p.id GROUP BY person, ward, city)
    SELECT city, AVG(n), MAX(n) FROM t GROUP BY city""",
    """SELECT ward, COUNT(*) FROM visits v WHERE v.id NOT IN (SELECT visit FROM labs
    WHERE value > 0) AND EXISTS (SELECT 1 FROM patients p WHERE p.id = v.patient)
    GROUP BY ward""",
    """SELECT ward, SUM(age) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w
    WHERE w.patient = v.patient AND w.ward = v.ward AND w.age > 50) GROUP BY ward""",
    """SELECT city, COUNT(*), SUM(value) FROM patients LEFT JOIN visits
    ON visits.patient = patients.id LEFT JOIN labs ON labs.visit = visits.id GROUP BY city""",
    """SELECT region, COUNT(*), AVG(beds + age) FROM visits v JOIN regions r ON v.ward = r.ward
    GROUP BY region""",
    """SELECT SUM(beds * value), COUNT(beds), MEDIAN(beds) FROM labs JOIN visits ON visit = id
    LEFT JOIN regions ON regions.ward = visits.ward WHERE region IS NULL OR beds > 3""",
    """SELECT AVG(most) FROM (SELECT person, MAX(beds) AS most FROM visits v
    LEFT JOIN regions r ON v.ward = r.ward JOIN patients p ON p.id = v.patient GROUP BY person)
    WHERE most >= 0""",
    """SELECT region, AVG(n), SUM(beds) FROM (SELECT person, ward, COUNT(age) AS n FROM visits v
    JOIN patients p ON v.patient = p.id GROUP BY person, ward) t
    JOIN regions r ON t.ward = r.ward WHERE n < 3 GROUP BY region""",
    """SELECT COUNT(*), COUNT(region) FROM (SELECT person, COUNT(*) AS n FROM patients
    GROUP BY person) t LEFT JOIN regions r ON t.n = r.beds""",
)
SALT = b"salt"
LIMITS = st.builds(Limits, st.integers(1, 2), st.integers(1, 3))
questions = st.sampled_from(QUESTIONS)


def opened(table: SecretTable) -> list[list[int]]:
    return [unseal(tally).tolist() for tally in table.tallies]


@given(hospitals, questions, LIMITS)
def test_duckdb_joins_as_the_reference_does(
    patients: tuple[Patient | None, ...], text: str, limits: Limits
) -> None:
    declared, found = catalog(limits), tables(patients)
    plan = bound(canonical(parse(text, declared)).plan, declared).plan
    ours = duckdb_over(declared, found).run(plan, declared, SALT)
    assert opened(ours) == opened(Reference(dict(found)).run(plan, declared, SALT))


def replayed(
    text: str,
    limits: Limits,
    neighbours: Neighbours,
    sides: tuple[tuple[Patient | None, ...], tuple[Patient | None, ...]],
) -> None:
    declared = catalog(limits, neighbours)
    quote = price(parse(text, declared), declared, Loss.zcdp("0.1"))
    recording = RecordingGateway(SystemEntropy(b"charge"))
    first = run(quote, Reference(dict(tables(sides[0]))), declared, SALT, recording)
    replaying = ReplayingGateway(recording.calls)
    second = run(quote, Reference(dict(tables(sides[1]))), declared, SALT, replaying)
    replaying.finish()
    assert first == second


@given(hospitals, patient(PEOPLE[0]), patient(PEOPLE[0]), questions, LIMITS)
def test_one_person_in_three_tables_shows_in_nothing_but_noise(
    others: tuple[Patient | None, ...], one: Patient, other: Patient, text: str, limits: Limits
) -> None:
    replayed(text, limits, Neighbours.ADD_REMOVE, ((*others, one), others))
    replayed(text, limits, Neighbours.REPLACE_ONE, ((*others, one), (*others, other)))


def test_two_people_would_show() -> None:
    visits = (Visit("north", 50, (5, 5)), Visit("north", 60, (5,)))
    both = tuple(Patient(person, "Bern", visits) for person in PEOPLE[:2])
    with pytest.raises(BrokenPromise):
        replayed(QUESTIONS[0], Limits(1, 2), Neighbours.ADD_REMOVE, (both, ()))


def test_a_question_follows_the_links_to_the_unit_by_itself() -> None:
    declared = catalog(Limits(1, 1))
    plan = parse("SELECT COUNT(*) FROM labs", declared)
    source = source_of(plan.source, declared)
    visits = JoinedTable("visits", "labs.visit", "visits.id")
    patients = JoinedTable("patients", "visits.patient", "patients.id")
    assert source == Source("labs", (visits, patients), "patients.person")
    assert assumptions(source, declared) == ("visits.id is unique",)


def test_that_a_public_table_is_about_nobody_is_told_wherever_it_is_joined() -> None:
    declared = catalog(Limits(2, 2))
    for text in QUESTIONS:
        quote = price(parse(text, declared), declared, Loss.zcdp("0.1"))
        told = "regions contains no personal data" in quote.assumptions
        assert told == ("regions" in text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "SELECT COUNT(*) FROM labs JOIN visits ON labs.value = visits.age",
            "not a declared link",
        ),
        (
            "SELECT COUNT(*) FROM labs JOIN patients ON labs.visit = patients.id",
            "not a declared",
        ),
        ("SELECT COUNT(*) FROM visits a JOIN visits b ON a.id = b.id", "joined with itself"),
        ("SELECT COUNT(*) FROM visits, patients", "JOIN dataset ON"),
        ("SELECT COUNT(*) FROM visits CROSS JOIN patients", "CROSS JOIN is not supported"),
        ("SELECT COUNT(*) FROM labs JOIN visits USING (id)", "USING"),
        (
            """SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM patients GROUP BY person) t
            JOIN visits v ON t.person = v.patient""",
            "inside that subquery",
        ),
        ("SELECT COUNT(*) FROM regions", "is a public table, and not a dataset"),
        (
            "SELECT COUNT(*) FROM regions r JOIN visits v ON r.ward = v.ward",
            "join it to a dataset, which must come first",
        ),
        (
            "SELECT COUNT(*) FROM visits RIGHT JOIN regions r ON r.ward = visits.ward",
            "RIGHT JOIN is not supported",
        ),
        ("SELECT COUNT(*) FROM visits v JOIN regions r ON r.ward <> v.ward", "JOIN dataset ON"),
        ("SELECT COUNT(*) FROM visits v JOIN regions r ON r.ward = r.region", "ON must equate"),
        (
            """SELECT COUNT(*) FROM visits v JOIN regions r ON r.ward = v.ward
            JOIN regions s ON s.ward = v.ward""",
            "join a table only once",
        ),
    ],
)
def test_any_other_join_is_refused(text: str, told: str) -> None:
    with pytest.raises(TacitError, match=told):
        parse(text, catalog(Limits(1, 1)))


def test_a_join_by_a_table_that_is_not_there_is_refused() -> None:
    # no text can say this, and trees that are built by hand can
    public = JoinPublic(Scan("visits"), "regions", "patients.city", "ward")
    with pytest.raises(
        InvalidValue, match=r"patients\.city, but the table of that column is not joined before"
    ):
        source_of(public, catalog(Limits(1, 1)))


def test_a_link_into_another_population_cannot_be_declared() -> None:
    declared = catalog(Limits(1, 1))
    foreign = replace(declared.dataset("labs"), population="staff")
    with pytest.raises(InvalidValue, match="must be in one population"):
        replace(
            declared,
            populations=(*declared.populations, replace(declared.populations[0], name="staff")),
            datasets=(*declared.datasets[:2], foreign),
        )
