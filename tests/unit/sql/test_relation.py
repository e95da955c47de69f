"""FROM, JOIN, WITH and queries below, each beside the relation that it stands for."""

# ruff: noqa: S608 - a question is a line

import pytest
from ward import CATALOG, c, field

from tacit.errors import TacitError
from tacit.plan.expression import (
    Arithmetic,
    Compare,
    Comparison,
    Divide,
    Expression,
    Field,
    Operation,
)
from tacit.plan.plan import (
    CountRows,
    Filter,
    GroupKey,
    Join,
    JoinPublic,
    Mean,
    NamedAggregate,
    OrderBy,
    Output,
    PerUnit,
    Plan,
    Relation,
    Scan,
    Sum,
    UnitValue,
)
from tacit.sql.parser import parse

VISIT = Scan("visits")
JOINED = Join(VISIT, "patients", "visits.patient", "id")
LONG = Compare(Comparison.MORE, field("stay"), c(7))
ON = "ON visits.patient = patients.id"
PEOPLE = f"visits JOIN patients {ON}"


def source(text: str) -> Relation:
    return parse(f"SELECT COUNT(*) AS n FROM {text}", CATALOG).source


RELATIONS: list[tuple[str, Relation]] = [
    ("visits", VISIT),
    ("visits AS v", VISIT),
    ("visits WHERE stay > 7", Filter(VISIT, LONG)),
    ("visits v WHERE v.stay > 7", Filter(VISIT, LONG)),
    (PEOPLE, JOINED),
    ("visits JOIN patients ON patients.id = visits.patient", JOINED),
    ("visits v INNER JOIN patients AS p ON v.patient = p.id", JOINED),
    (
        "patients JOIN visits ON patients.id = visits.patient",
        Join(Scan("patients"), "visits", "patients.id", "patient"),
    ),
    (
        "visits JOIN regions ON visits.ward = regions.ward",
        JoinPublic(VISIT, "regions", "visits.ward", "ward"),
    ),
    (
        "visits LEFT JOIN regions ON regions.ward = visits.ward",
        JoinPublic(VISIT, "regions", "visits.ward", "ward", outer=True),
    ),
    (
        f"labs JOIN visits ON labs.visit = visits.id JOIN patients {ON}",
        Join(
            Join(Scan("labs"), "visits", "labs.visit", "id"),
            "patients",
            "visits.patient",
            "id",
        ),
    ),
    ("(SELECT * FROM visits) AS v WHERE v.stay > 7", Filter(VISIT, LONG)),
    ("(SELECT stay AS s FROM visits) WHERE s > 7", Filter(VISIT, LONG)),
    ("(SELECT * FROM visits WHERE stay > 7)", Filter(VISIT, LONG)),
    (
        "(SELECT stay + 1 AS s FROM visits) WHERE s > 7",
        Filter(
            VISIT,
            Compare(Comparison.MORE, Arithmetic(Operation.ADD, field("stay"), c(1)), c(7)),
        ),
    ),
]


@pytest.mark.parametrize(("text", "wanted"), RELATIONS, ids=[text for text, _ in RELATIONS])
def test_where_rows_come_from(text: str, wanted: Relation) -> None:
    assert source(text) == wanted


def test_with_names_queries_and_each_sees_those_before_it() -> None:
    named = "WITH a AS (SELECT stay AS s FROM visits), b AS (SELECT s AS t FROM a WHERE s > 7)"
    plan = parse(f"{named} SELECT SUM(t) AS x FROM b", CATALOG)
    assert plan.source == Filter(VISIT, LONG)
    assert plan.measures == (NamedAggregate("measure 0", Sum(field("stay"))),)
    with pytest.raises(TacitError, match="no dataset 'b'"):
        parse(
            "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM visits) "
            "SELECT COUNT(*) AS n FROM a",
            CATALOG,
        )
    with pytest.raises(TacitError, match="no dataset 'a'"):
        parse("WITH a AS (SELECT * FROM a) SELECT COUNT(*) AS n FROM a", CATALOG)


def test_rows_of_units() -> None:
    below = f"SELECT person, COUNT(*) AS k, SUM(stay) AS s FROM {PEOPLE} GROUP BY person"
    values = (UnitValue("value_0", CountRows()), UnitValue("value_1", Sum(field("stay"))))
    plan = parse(f"SELECT AVG(s) AS x FROM ({below}) WHERE k > 2", CATALOG)
    more = Compare(Comparison.MORE, Field("below.value_0"), c(2))
    assert plan.source == Filter(PerUnit(JOINED, (), values), more)
    assert plan.measures[0].aggregate == Mean(Field("below.value_1"))


def test_rows_of_units_by_more_than_the_unit_and_having() -> None:
    below = (
        f"SELECT person, ward AS w, COUNT(*) AS k FROM {PEOPLE} GROUP BY person, ward "
        "HAVING COUNT(*) > 2 AND k < 9"
    )
    plan = parse(f"SELECT w, COUNT(*) AS n FROM ({below}) GROUP BY w", CATALOG)
    assert isinstance(plan.source, Filter)
    assert plan.source.source == PerUnit(
        JOINED, ("visits.ward",), (UnitValue("value_0", CountRows()),)
    )
    assert plan.keys == (GroupKey("key 0", field("ward")),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("visits JOIN patients USING (stay)", "USING .stay. needs a column"),
        ("visits, patients", "JOIN dataset ON"),
        (
            "visits CROSS JOIN patients",
            "CROSS JOIN is not supported, because every pair of rows",
        ),
        (
            "visits RIGHT JOIN patients ON visits.patient = patients.id",
            "RIGHT JOIN is not supported, because it would keep rows that belong to nobody",
        ),
        (
            "visits FULL JOIN regions ON visits.ward = regions.ward",
            "FULL JOIN is not supported, because it would keep rows that belong to nobody",
        ),
        (
            "visits JOIN patients ON visits.patient = visits.id",
            "ON must equate a column of the joined dataset with a column of",
        ),
        (
            "visits JOIN patients ON patients.id = patients.age",
            "ON must equate a column of the joined dataset with a column of",
        ),
        ("visits JOIN patients ON visits.patient > patients.id", "JOIN dataset ON"),
        (
            "(SELECT * FROM visits ORDER BY stay)",
            "ORDER is not supported in a subquery, because it would select",
        ),
        (
            "(SELECT * FROM visits LIMIT 5)",
            "LIMIT is not supported in a subquery, because it would select",
        ),
        (
            "(SELECT DISTINCT patient FROM visits)",
            "SELECT DISTINCT is not supported in a subquery, because equal rows",
        ),
        (
            "(SELECT DISTINCT COUNT(*) AS k FROM visits GROUP BY patient)",
            "SELECT DISTINCT is not supported in a subquery, because equal rows",
        ),
        (
            "(SELECT stay + 1 FROM visits)",
            r"A column of a subquery needs a name; name it with AS\.",
        ),
        (
            "(SELECT stay AS s, cost AS s FROM visits)",
            "Columns of a subquery must have distinct names; rename one with",
        ),
        (
            "(SELECT ward, COUNT(*) AS k FROM visits GROUP BY ward)",
            "A subquery that aggregates must have the unit in its GROUP BY;",
        ),
    ],
)
def test_what_rows_do_not_come_from_is_refused(text: str, told: str) -> None:
    with pytest.raises(TacitError, match=told):
        source(text)


def asked(text: str) -> Plan:
    return parse(text, CATALOG)


def test_what_is_shown_ordered_and_limited() -> None:
    plan = asked(
        "SELECT ward, COUNT(*) AS n, SUM(cost) / COUNT(*) AS mean, 3 FROM visits "
        "GROUP BY ward HAVING n > 10 ORDER BY mean DESC, ward LIMIT 5"
    )
    assert plan.keys == (GroupKey("key 0", field("ward")),)
    assert [part.aggregate for part in plan.measures] == [CountRows(), Sum(field("cost"))]
    names = {part.aggregate: part.name for part in plan.measures}
    count, total = Field(names[CountRows()]), Field(names[Sum(field("cost"))])
    mean: Expression = Divide(total, count)
    assert plan.post.outputs == (
        Output("ward", Field("key 0")),
        Output("n", count),
        Output("mean", mean),
        Output("column_4", c(3)),
    )
    assert plan.post.having == Compare(Comparison.MORE, count, c(10))
    assert plan.post.order == (
        OrderBy(mean, descending=True),
        OrderBy(Field("key 0"), descending=False),
    )
    assert plan.post.limit == 5


def test_nothing_is_limited_unless_it_is_asked_for() -> None:
    plan = asked("SELECT COUNT(*) FROM visits")
    assert (plan.post.having, plan.post.order, plan.post.limit) == (None, (), None)
    assert plan.post.outputs[0].name == "column_1"
    assert asked("SELECT COUNT(*) AS n FROM visits LIMIT 0").post.limit == 0
    longest = asked(f"SELECT COUNT(*) AS n FROM visits LIMIT {'9' * 18}").post.limit
    assert longest == 10**18 - 1
    with pytest.raises(
        TacitError, match=r"LIMIT must be a constant integer with at most 18 digits\."
    ):
        asked(f"SELECT COUNT(*) AS n FROM visits LIMIT {'9' * 19}")
    with pytest.raises(
        TacitError, match=r"LIMIT must be a constant integer with at most 18 digits\."
    ):
        asked("SELECT COUNT(*) AS n FROM visits LIMIT '5'")


def test_a_key_may_be_named_by_its_output_unless_rows_have_that_name() -> None:
    plan = asked("SELECT MONTH(day) AS m, COUNT(*) AS n FROM visits GROUP BY m")
    assert plan == asked(
        "SELECT MONTH(day) AS m, COUNT(*) AS n FROM visits GROUP BY MONTH(day)"
    )
    with pytest.raises(
        TacitError, match=r"'day' must be in GROUP BY or be the argument of an aggregate;"
    ):
        asked("SELECT MONTH(day) AS stay, COUNT(*) AS n FROM visits GROUP BY stay")


def test_a_key_and_an_aggregate_stand_once() -> None:
    plan = asked("SELECT COUNT(*) AS a, COUNT(*) AS b FROM visits GROUP BY ward, ward")
    assert len(plan.keys) == len(plan.measures) == 1
    assert [output.name for output in plan.post.outputs] == ["a", "b"]


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        ("visits GROUP BY patient", ("visits.patient",)),
        (
            "visits JOIN patients ON visits.patient = patients.id GROUP BY patients.id",
            ("patients.id",),
        ),
        ("labs GROUP BY visit, value", ("labs.visit", "labs.value")),
    ],
)
def test_a_column_of_a_link_groups_the_rows_of_one_person(
    rows: str, keys: tuple[str, ...]
) -> None:
    found = source(f"(SELECT COUNT(*) AS k FROM {rows})")
    assert isinstance(found, PerUnit)
    assert found.keys == keys


def test_a_column_that_left_join_adds_is_null_for_many_people() -> None:
    rows = "patients LEFT JOIN visits ON visits.patient = patients.id"
    with pytest.raises(TacitError, match="must have the unit in its GROUP BY"):
        source(f"(SELECT COUNT(*) AS k FROM {rows} GROUP BY visits.patient)")


@pytest.mark.parametrize(
    ("rows", "key"),
    [("visits", "visits.patient"), ("visits v", "v.patient"), ("patients p", "p.person")],
)
def test_the_suggested_key_can_be_written(rows: str, key: str) -> None:
    with pytest.raises(TacitError, match=f"write GROUP BY {key}, and other"):
        source(f"(SELECT COUNT(*) AS k FROM {rows})")
    assert isinstance(source(f"(SELECT COUNT(*) AS k FROM {rows} GROUP BY {key})"), PerUnit)
