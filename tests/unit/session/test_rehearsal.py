"""A child rehearses without data, and its first answer is not late because it is new."""

from tacit.engines.print.sql_dialects import DUCKDB
from tacit.engines.sql_engine import statement
from tacit.session.workers import QUESTIONS, rehearse


def test_a_rehearsal_prints_each_question_for_its_engine_and_needs_none() -> None:
    statement.cache_clear()
    rehearse(None)  # an engine that prints no SQL
    assert statement.cache_info().currsize == 0
    rehearse(DUCKDB)
    assert statement.cache_info().currsize == len(QUESTIONS)
