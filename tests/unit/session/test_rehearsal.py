"""A child rehearses without data, and its first answer is not late because it is new."""

from tacit.engines.ask import statement
from tacit.session.rehearsal import DIALECTS, QUESTIONS, rehearse


def test_a_rehearsal_prints_each_question_for_each_engine_and_needs_none() -> None:
    rehearse()
    assert statement.cache_info().currsize == len(QUESTIONS) * len(DIALECTS)
