"""Engines and the reference find the same integers, whatever the table and the question."""

from clinic import LIMITS, ROWS, TABLE, TABLES, catalog, plans
from engines_over import Over, duckdb_over, spark_over
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from neighbouring import opened

from tacit.audit.replay import RecordingGateway, ReplayingGateway
from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.engines.reference import Reference, Row
from tacit.errors import InvalidValue
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounding import Bound, bound
from tacit.plan.plan import Plan
from tacit.query.paid_work import run
from tacit.query.pricing import price

SALT = b"salt"
ONE_OF = 50
"""One example of so many is run on Spark, which takes its time."""


def bounded(plan: Plan, limits: Limits) -> Bound:
    try:
        return bound(plan, catalog(limits))
    except InvalidValue:
        assume(False)
        raise


def assert_the_same(over: Over, rows: list[Row], plan: Plan, limits: Limits) -> None:
    """An engine finds the integers of the reference."""
    wanted, declared = bounded(plan, limits).plan, catalog(limits)
    found = over(declared, {TABLE: rows}).run(wanted, declared, SALT)
    assert opened(found) == opened(Reference({TABLE: rows}).run(wanted, declared, SALT))


@given(TABLES, plans(), LIMITS)
def test_duckdb_finds_the_same_integers_as_the_reference(
    rows: list[Row], plan: Plan, limits: Limits
) -> None:
    assert_the_same(duckdb_over, rows, plan, limits)


@settings(max_examples=1 + settings.default.max_examples // ONE_OF)
@given(TABLES, plans(), LIMITS)
def test_spark_finds_the_same_integers_as_the_reference(
    rows: list[Row], plan: Plan, limits: Limits
) -> None:
    assert_the_same(spark_over, rows, plan, limits)


@given(TABLES, st.lists(ROWS, max_size=8), plans(), LIMITS, st.sampled_from(Neighbours))
def test_a_neighbour_shows_in_nothing_but_noise(
    rows: list[Row], theirs: list[Row], plan: Plan, limits: Limits, neighbours: Neighbours
) -> None:
    declared = catalog(limits, neighbours)
    try:
        quote = price(plan, declared, Loss.zcdp("0.1"))
    except InvalidValue:
        assume(False)
        raise
    others = [row for row in rows if row["person"] != "a"]
    with_them = [*others, *({**row, "person": "a"} for row in theirs)]
    before = rows if neighbours is Neighbours.REPLACE_ONE else others
    recording = RecordingGateway(SystemEntropy(b"charge"))
    first = run(quote, Reference({TABLE: before}), declared, SALT, recording)
    replaying = ReplayingGateway(recording.calls)
    second = run(quote, Reference({TABLE: with_them}), declared, SALT, replaying)
    replaying.finish()
    assert first == second
