"""EXISTS and IN (SELECT ...), each beside its semi-join, and what of them is refused."""

# ruff: noqa: S608 - a question is a line

import re
from dataclasses import replace

import pytest
from ward import CATALOG, c, field

from tacit.core.catalog import Catalog
from tacit.core.loss import Loss
from tacit.errors import InvalidValue, TacitError
from tacit.frame import Table, col
from tacit.plan.allowed_joins import MOST_SEMI_JOINS
from tacit.plan.canonical_form import canonical, subject_hash
from tacit.plan.expression import And, Compare, Comparison, Field, IsNull, Not
from tacit.plan.plan import (
    CountRows,
    Filter,
    Join,
    JoinPublic,
    LeftJoin,
    PerUnit,
    Relation,
    Scan,
    Semi,
    UnitValue,
    datasets,
    tables_in_scope,
)
from tacit.plan.source import source_of
from tacit.query.pricing import price
from tacit.sql.parser import parse
from tacit.sql.printer import show

VISIT, LAB = Scan("visits"), Scan("labs")
UP = Compare(Comparison.MORE, Field("labs.value"), c(0))
LONG = Compare(Comparison.MORE, field("stay"), c(7))
BY_VISIT = (("visits.id", "labs.visit"),)
LOOKED_UP = JoinPublic(VISIT, "regions", "visits.ward", "ward")
BEDS = Compare(Comparison.MORE, Field("regions.beds"), c(3))
KNOWN = Not(IsNull(field("id")))


def source(text: str) -> Relation:
    return parse(f"SELECT COUNT(*) AS n FROM {text}", CATALOG).source


SEMI_JOINS: list[tuple[str, Relation]] = [
    (
        "visits WHERE EXISTS (SELECT 1 FROM labs WHERE labs.visit = visits.id)",
        Semi(VISIT, LAB, BY_VISIT),
    ),
    (
        "visits v WHERE EXISTS (SELECT * FROM labs l WHERE v.id = l.visit AND value > 0)",
        Semi(VISIT, Filter(LAB, UP), BY_VISIT),
    ),
    ("visits WHERE id IN (SELECT visit FROM labs)", Semi(VISIT, LAB, BY_VISIT)),
    ("visits WHERE (id) IN ((SELECT visit AS v FROM labs))", Semi(VISIT, LAB, BY_VISIT)),
    (
        "visits WHERE NOT EXISTS (SELECT 1 FROM labs WHERE labs.visit = visits.id)",
        Semi(VISIT, LAB, BY_VISIT, anti=True),
    ),
    (
        "visits WHERE id NOT IN (SELECT visit FROM labs)",
        Filter(Semi(VISIT, LAB, BY_VISIT, anti=True), KNOWN),
    ),
    ("visits WHERE NOT (NOT id IN (SELECT visit FROM labs))", Semi(VISIT, LAB, BY_VISIT)),
    (
        "visits WHERE stay > 7 AND (id IN (SELECT visit FROM labs WHERE value > 0))",
        Filter(Semi(VISIT, Filter(LAB, UP), BY_VISIT), LONG),
    ),
    (
        # names of the subselect come first, as in SQL
        "visits WHERE patient IN (SELECT patient FROM visits WHERE stay > 7)",
        Semi(VISIT, Filter(VISIT, LONG), (("visits.patient", "visits.patient"),)),
    ),
    (
        """visits v WHERE EXISTS (SELECT 1 FROM visits w
        WHERE w.patient = v.patient AND w.ward = v.ward)""",
        Semi(
            VISIT,
            VISIT,
            (("visits.patient", "visits.patient"), ("visits.ward", "visits.ward")),
        ),
    ),
    (
        """labs WHERE visit IN (SELECT id FROM visits
        WHERE EXISTS (SELECT 1 FROM patients WHERE patients.id = patient))""",
        Semi(
            LAB,
            Semi(VISIT, Scan("patients"), (("visits.patient", "patients.id"),)),
            (("labs.visit", "visits.id"),),
        ),
    ),
    (
        """patients WHERE person IN
        (SELECT person FROM notes GROUP BY person HAVING COUNT(*) > 1)""",
        Semi(
            Scan("patients"),
            Filter(
                PerUnit(Scan("notes"), (), (UnitValue("value_0", CountRows()),)),
                Compare(Comparison.MORE, Field("below.value_0"), c(1)),
            ),
            (("patients.person", "notes.person"),),
        ),
    ),
    (
        "visits WHERE ward IN (SELECT r.ward FROM regions r WHERE beds > 3) AND stay > 7",
        Filter(LOOKED_UP, And((LONG, BEDS))),
    ),
    (
        "visits v WHERE EXISTS (SELECT 1 FROM regions WHERE regions.ward = v.ward)",
        LOOKED_UP,
    ),
    (
        "patients LEFT JOIN visits ON visits.patient = patients.id",
        LeftJoin(Scan("patients"), "visits", "patients.id", "patient"),
    ),
]


@pytest.mark.parametrize(("text", "relation"), SEMI_JOINS)
def test_a_subselect_is_a_semi_join(text: str, relation: Relation) -> None:
    assert source(text) == relation


@pytest.mark.parametrize("text", [text for text, _ in SEMI_JOINS])
def test_a_printed_subselect_is_the_same_question(text: str) -> None:
    asked = parse(f"SELECT COUNT(*) AS n FROM {text}", CATALOG)
    assert canonical(parse(show(asked, CATALOG), CATALOG)) == canonical(asked)
    assert price(asked, CATALOG, Loss.zcdp("0.1")).loss <= Loss.zcdp("0.1")


SAME = [
    (
        "visits WHERE id IN (SELECT visit FROM labs) AND stay > 7",
        "visits WHERE stay > 7 AND EXISTS (SELECT 1 FROM labs WHERE visits.id = visit)",
    ),
    (
        """visits WHERE id IN (SELECT visit FROM labs)
        AND patient IN (SELECT id FROM patients)""",
        """visits WHERE patient IN (SELECT id FROM patients)
        AND id IN (SELECT visit FROM labs) AND id IN (SELECT visit FROM labs)""",
    ),
    (
        """(SELECT id, patient FROM visits WHERE id IN (SELECT visit FROM labs)) v
        JOIN patients ON v.patient = patients.id""",
        """visits JOIN patients ON visits.patient = patients.id
        WHERE visits.id IN (SELECT visit FROM labs)""",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_order_and_repetition_do_not_make_another_question(one: str, other: str) -> None:
    first, second = (
        canonical(parse(f"SELECT COUNT(*) FROM {text}", CATALOG)) for text in (one, other)
    )
    assert first.hash == second.hash
    negated = other.replace("id IN (SELECT visit", "id NOT IN (SELECT visit")
    third = canonical(parse(f"SELECT COUNT(*) FROM {negated}", CATALOG))
    assert third.hash != first.hash or negated == other
    tables = source_of(first.plan.source, CATALOG)
    plain = canonical(parse("SELECT COUNT(*) FROM visits", CATALOG))
    assert subject_hash(first, tables) != subject_hash(plain, tables)


def test_policies_and_names_know_which_tables_are_read() -> None:
    relation = source("visits WHERE patient IN (SELECT id FROM patients)")
    assert datasets(relation) == ("visits", "patients")
    assert tables_in_scope(relation) == ("visits",)
    below = PerUnit(Semi(Scan("notes"), Scan("patients"), (("notes.person", "x"),)), (), ())
    assert datasets(below) == ("notes", "patients")
    asked = parse("SELECT COUNT(*) FROM labs WHERE visit IN (SELECT id FROM visits)", CATALOG)
    assert price(asked, CATALOG, Loss.zcdp(1)).datasets == ("labs", "visits", "patients")


REFUSED = [
    (
        "visits WHERE EXISTS (SELECT 1 FROM labs)",
        "EXISTS must be about rows of the same person",
    ),
    (
        "visits WHERE NOT EXISTS (SELECT 1 FROM labs WHERE value > 1)",
        "NOT EXISTS must be about rows of the same person",
    ),
    ("visits WHERE stay IN (SELECT value FROM labs)", r"IN \(SELECT ...\) must be about rows"),
    (
        "visits WHERE ward IN (SELECT ward FROM visits WHERE stay > 3)",
        r"SELECT visits.patient FROM visits\)",
    ),
    ("labs WHERE EXISTS (SELECT 1 FROM patients)", "in the WHERE of its subselect"),
    ("visits WHERE stay > (SELECT AVG(stay) FROM visits)", "A subselect that returns a value"),
    (
        "visits v WHERE (SELECT COUNT(*) FROM labs l WHERE l.visit = v.id) > 1",
        "A subselect that returns a value",
    ),
    ("visits WHERE stay > 1 OR id IN (SELECT visit FROM labs)", "conditions of their own"),
    (
        "visits WHERE CASE WHEN id IN (SELECT visit FROM labs) THEN urgent END",
        "conditions of their own",
    ),
    (
        "visits GROUP BY ward HAVING ward IN (SELECT note FROM visits)",
        "conditions of their own",
    ),
    (
        "visits v WHERE EXISTS (SELECT 1 FROM labs WHERE visit = v.id AND value > v.stay)",
        r"v\.stay is a column of the outer question",
    ),
    (
        "visits v WHERE EXISTS (SELECT 1 FROM labs WHERE visit = v.id AND v.stay > 3)",
        "belong in the outer WHERE",
    ),
    (
        "visits v WHERE EXISTS (SELECT 1 FROM labs WHERE visit = v.id OR value = v.stay)",
        "can only equate it with one of its own columns",
    ),
    ("visits WHERE id + 1 IN (SELECT visit FROM labs)", "one column with one column"),
    ("visits WHERE id IN (SELECT visit, value FROM labs)", "one column with one column"),
    ("visits WHERE id IN (SELECT visit + 1 FROM labs)", "one column with one column"),
    ("visits WHERE id IN (SELECT visit FROM labs LIMIT 1)", "LIMIT is not supported"),
    ("visits WHERE EXISTS (SELECT 1)", "FROM with the name of a dataset"),
    ("visits WHERE ward NOT IN (SELECT ward FROM regions)", "public table only without NOT"),
    ("visits WHERE ward IN (SELECT region FROM regions)", "cannot be joined by 'region'"),
    (
        "visits v WHERE EXISTS (SELECT 1 FROM regions r WHERE r.ward = v.ward GROUP BY ward)",
        "by one equation, and if each value is in one row",
    ),
    ("visits WHERE EXISTS (SELECT 1 FROM regions)", "by one equation"),
    (
        "visits v WHERE EXISTS (SELECT COUNT(*) FROM labs l WHERE l.visit = v.id)",
        "must have the unit in its GROUP BY",
    ),
    (
        "notes WHERE person IN (SELECT person FROM staff)",
        "only datasets of the population of its question",
    ),
    ("visits WHERE id = ANY (SELECT visit FROM labs)", r"write x IN \(SELECT"),
    ("visits WHERE id > ALL (SELECT visit FROM labs)", "write NOT EXISTS"),
    (
        "visits a JOIN visits b ON a.patient = b.patient",
        "'visits' cannot be joined with itself",
    ),
    (
        """(SELECT person, COUNT(*) AS n FROM notes GROUP BY person) t
        WHERE EXISTS (SELECT 1 FROM notes o WHERE o.person = t.person AND o.words = t.n)""",
        r"have no column below\.value_0",
    ),
    (
        """notes WHERE EXISTS (SELECT 1 FROM notes n WHERE n.person = notes.person
        AND n.words = notes.words GROUP BY n.person)""",
        r"notes\.words is not in the GROUP BY of its subselect",
    ),
    (
        """visits v WHERE EXISTS (SELECT 1 FROM visits w
        WHERE w.patient = v.patient AND w.cost = v.cost)""",
        "both columns of a join must be of one kind",
    ),
]


@pytest.mark.parametrize(("text", "told"), REFUSED)
def test_any_other_subselect_is_refused(text: str, told: str) -> None:
    with pytest.raises(TacitError, match=told):
        price(parse(f"SELECT COUNT(*) FROM {text}", CATALOG), CATALOG, Loss.zcdp("0.1"))


def test_a_subselect_in_the_answer_is_refused() -> None:
    with pytest.raises(InvalidValue, match="A subselect that returns a value"):
        parse("SELECT COUNT(*) / (SELECT COUNT(*) FROM labs) FROM visits", CATALOG)


def suggested(refused: str, catalog: Catalog) -> str | None:
    """The statement that a refusal proposes; None if it proposes none."""
    with pytest.raises(TacitError) as told:
        parse(f"SELECT COUNT(*) FROM {refused}", catalog)
    found = re.search(r"SELECT COUNT\(\*\) FROM .*?\(SELECT .*?\)", str(told.value))
    return None if found is None else found[0]


@pytest.mark.parametrize(
    "refused",
    [
        *(text for text, told in REFUSED if "EXISTS (SELECT 1 FROM labs)" in text),
        *(text for text, told in REFUSED if "must be about rows" in told),
        "visits WHERE ward IN (SELECT ward FROM visits WHERE stay > 3)",
        "visits a JOIN visits b ON a.patient = b.patient",
    ],
)
def test_what_a_refusal_proposes_is_a_question(refused: str) -> None:
    text = suggested(refused, CATALOG)
    assert text is not None
    price(parse(text, CATALOG), CATALOG, Loss.zcdp("0.1"))


def test_a_question_has_few_semi_joins() -> None:
    def asking(number: int) -> str:
        each = " AND ".join(
            f"id IN (SELECT visit FROM labs WHERE value > {place})" for place in range(number)
        )
        return f"SELECT COUNT(*) FROM visits WHERE {each}"

    parse(asking(MOST_SEMI_JOINS), CATALOG)
    with pytest.raises(InvalidValue, match=f"at most {MOST_SEMI_JOINS} conditions with EXISTS"):
        parse(asking(MOST_SEMI_JOINS + 1), CATALOG)


def test_conditions_of_a_subselect_are_counted() -> None:
    many = " AND ".join(f"value <> {place}" for place in range(64))
    text = f"SELECT COUNT(*) FROM visits WHERE id IN (SELECT visit FROM labs WHERE {many})"
    price(parse(text, CATALOG), CATALOG, Loss.zcdp("0.1"))
    with pytest.raises(InvalidValue, match="has 65 comparisons"):
        price(parse(f"{text} AND stay > 3", CATALOG), CATALOG, Loss.zcdp("0.1"))


def test_a_tree_without_an_equation_is_refused() -> None:
    # no text can say this, and trees that are built by hand can
    with pytest.raises(InvalidValue, match="equate the unit or a declared link"):
        source_of(Semi(VISIT, LAB, ()), CATALOG)
    with pytest.raises(InvalidValue, match=r"add to its WHERE .* such as visits\.id = labs"):
        source_of(Semi(VISIT, LAB, (("visits.stay", "labs.value"),)), CATALOG)


def test_method_calls_ask_the_same() -> None:
    visits, labs = Table.of(CATALOG, "visits"), Table.of(CATALOG, "labs")
    up = labs.where(col("value") > 0)
    assert visits.matching(up, id="visit").relation == Semi(VISIT, Filter(LAB, UP), BY_VISIT)
    absent = visits.matching(labs, absent=True, id="visit").relation
    assert absent == Semi(VISIT, LAB, BY_VISIT, anti=True)
    outer = visits.join("labs", left="id", right="visit", outer=True).relation
    assert outer == LeftJoin(VISIT, "labs", "visits.id", "visit")
    inner = visits.join("labs", left="id", right="visit").relation
    assert inner == Join(VISIT, "labs", "visits.id", "visit")


def test_a_table_of_a_subselect_counts_for_the_least_number_of_people() -> None:
    few = replace(CATALOG.dataset("labs"), min_people=5)
    others = tuple(each for each in CATALOG.datasets if each.name != "labs")
    declared = replace(CATALOG, datasets=(*others, few))
    text = "SELECT COUNT(*) FROM visits WHERE id IN (SELECT visit FROM labs)"
    assert price(parse(text, declared), declared, Loss.zcdp("0.1")).bound.min_people == 5
