"""Statements that need no data: they cost nothing, and reach neither ledger nor engine."""

import pytest
from ward import CATALOG, WARDS

from tacit.plan import PublicRows
from tacit.query import FreeQuestion
from tacit.session.session import Session
from tacit.sql import read_statement


def free(text: str) -> FreeQuestion:
    found = read_statement(text, CATALOG)
    assert isinstance(found, PublicRows)
    return FreeQuestion.of(found, CATALOG)


def test_constants_are_answered() -> None:
    answer = free("SELECT 1, 'a' AS b, 2 * 3 + 1 AS c, ROUND(2.5) AS d").ask(epsilon=1)
    assert [column.values[0] for column in answer.columns] == [1, "a", 7, 3]
    assert [column.name for column in answer.columns] == ["column_1", "b", "c", "d"]
    assert answer.standing.cost.amount == 0
    assert "costs nothing" in repr(answer)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT DISTINCT ward FROM visits", WARDS.values),
        ("SELECT DISTINCT ward FROM visits ORDER BY ward DESC", ("south", "north", "east")),
        ("SELECT ward FROM visits GROUP BY ward ORDER BY 1 LIMIT 1", ("east",)),
    ],
)
def test_declared_keys_are_answered(text: str, wanted: tuple[str, ...]) -> None:
    question = free(text)
    assert question.ask()["ward"].values == wanted
    assert question.population.name == "patients"
    preview = question.quote(epsilon=1, delta="1e-6")
    assert preview.standing.cost.amount == 0
    assert preview.errors == preview.advice == ()
    assert "costs nothing" in repr(preview)
    assert question.loss(epsilon=1).amount == 0


class NoCurator:
    """A curator with a catalogue alone: whatever else is asked of it fails."""

    catalog = CATALOG


def test_a_session_answers_them_without_ledger_and_engine() -> None:
    session = Session(NoCurator())  # type: ignore[arg-type]
    for text in ("SELECT 1", "SELECT DISTINCT ward FROM visits"):
        question = session.sql(text)
        assert question.quote(epsilon=1).standing.cost.amount == 0
        assert question.ask(epsilon=1).receipt == b""
    with pytest.raises(AttributeError):  # a question about data needs them
        session.sql("SELECT COUNT(*) FROM visits").quote(epsilon=1)
