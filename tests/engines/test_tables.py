"""Several tables of one question: engines find them, and neighbours differ in noise alone."""

from itertools import product

import pytest
from clinic import LIMITS, ROWS, TABLE, TABLES, catalog, database
from engines_over import ENGINES
from exact import ExactGateway
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.engines.reference import Reference, Row
from tacit.errors import InvalidValue
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import sensitivities
from tacit.query import pricing
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.sql.parser import parse

SALT = b"salt"
PARTS = ("COUNT(*)", "COUNT(pay)", "SUM(age)", "SUM(cost)", "AVG(age)", "VAR_POP(cost)")
GROUPS = (
    "ROLLUP (ward)",
    "CUBE (ward, smoker)",
    "ROLLUP (smoker, ward)",
    "GROUPING SETS ((ward), (smoker))",
    "CUBE (ward, smoker, FLOOR(age / 70) * 70)",
)
QUESTIONS = [
    f"SELECT {part} AS x FROM visits {where} GROUP BY {group}"  # noqa: S608 - our own text
    for group, part, where in product(GROUPS, PARTS, ("", "WHERE age > 30 OR smoker"))
]


def replay(
    question: str, before: list[Row], after: list[Row], limits: Limits, neighbours: Neighbours
) -> None:
    """Run a question on two neighbours with the same noise; raise if they can be told apart."""
    declared = catalog(limits, neighbours)
    try:
        quote = price(parse(question, declared), declared, Loss.zcdp("0.1"))
    except InvalidValue:
        assume(False)
        raise
    recording = RecordingGateway(SystemEntropy(b"charge"))
    first = run(quote, Reference({TABLE: before}), declared, SALT, recording)
    replaying = ReplayingGateway(recording.calls)
    second = run(quote, Reference({TABLE: after}), declared, SALT, replaying)
    replaying.finish()
    assert first == second


@given(
    TABLES,
    st.lists(ROWS, max_size=12),
    st.sampled_from(QUESTIONS),
    LIMITS,
    st.sampled_from(Neighbours),
)
def test_a_neighbour_shows_in_nothing_but_noise(
    rows: list[Row], theirs: list[Row], question: str, limits: Limits, neighbours: Neighbours
) -> None:
    others = [row for row in rows if row["person"] != "a"]
    before = rows if neighbours is Neighbours.REPLACE_ONE else others
    replay(
        question,
        before,
        [*others, *({**row, "person": "a"} for row in theirs)],
        limits,
        neighbours,
    )


def rows_of(person: str, count: int) -> list[Row]:
    """Rows of one person in as many groups as there are."""
    empty = dict.fromkeys(("pay", "cost", "day", "until", "doctor", "room"))
    return [
        {
            **empty,
            "person": person,
            "ward": ("north", "south")[number % 2],
            "age": number % 120,
            "smoker": number // 2 % 2 == 0,
        }
        for number in range(count)
    ]


COUNTS = "SELECT COUNT(*) AS n FROM visits GROUP BY CUBE (ward, smoker)"


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_person_moves_totals_as_far_as_was_said(neighbours: Neighbours) -> None:
    before, after = rows_of("b", 3), [*rows_of("b", 3), *rows_of("a", 12)]
    replay(COUNTS, before, after, Limits(4, 3), neighbours)


def test_a_total_with_the_sensitivity_of_the_finest_cells_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def finest(plan: object, tally: object, kept: object, neighbours: object) -> object:
        del kept
        return sensitivities(plan, tally, neighbours)  # type: ignore[arg-type]

    monkeypatch.setattr(pricing.plans, "marginal_sensitivities", finest)
    with pytest.raises(BrokenPromise):
        replay(COUNTS, [], rows_of("a", 12), Limits(4, 3), Neighbours.ADD_REMOVE)


@pytest.mark.parametrize(
    ("name", "group"),
    # one question of the largest kind is enough for Spark, which is slow
    [(name, group) for name in ENGINES for group in GROUPS[-1 if name == "spark" else 0 :]],
)
def test_every_engine_finds_the_tables_of_the_reference(name: str, group: str) -> None:
    declared = catalog(Limits(3, 2))
    text = f"SELECT COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY {group}"  # noqa: S608
    quote = price(parse(text, declared), declared, Loss.zcdp("0.1"))
    rows = [row for person in "abcdefg" for row in rows_of(person, ord(person) % 13)]
    rows += [{**rows[0], "ward": None}, {**rows[1], "ward": "elsewhere"}]
    engine = ENGINES[name](declared, {TABLE: rows})
    found = run(quote, engine, declared, SALT, ExactGateway())
    assert found == run(quote, Reference({TABLE: rows}), declared, SALT, ExactGateway())


def test_tables_are_those_of_sql_where_nothing_is_cut() -> None:
    declared = catalog(Limits(8, 20))
    rows = [row for person in "abcdefg" for row in rows_of(person, ord(person) % 13)]
    text = "SELECT ward, smoker, COUNT(*) AS n, SUM(age) AS s FROM visits"
    text += " GROUP BY CUBE (ward, smoker)"
    quote = price(parse(text, declared), declared, Loss.zcdp("0.1"))
    columns = run(quote, Reference({TABLE: rows}), declared, SALT, ExactGateway())
    smoker, ward, count, total = (column.values for column in columns)
    ours = {row for row in zip(ward, smoker, count, total, strict=True) if row[2]}
    theirs = {
        (ward, None if smoker is None else int(smoker), n, int(s))
        for ward, smoker, n, s in database(rows).execute(text).fetchall()
    }
    assert ours == theirs
