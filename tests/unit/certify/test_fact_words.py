"""Declared facts in documents: days are dates, and nothing else changes."""

import pytest

from tacit.certify.fact_words import fact_text
from tacit.core import FIRST, LAST


@pytest.mark.parametrize(
    ("fact", "shown"),
    [
        ("a.b: date, from 20454 to 20818 (public)", "2026-01-01 to 2026-12-31 (public)"),
        ("a.b: date, from -1 to 0 (policy)", "1969-12-31 to 1970-01-01 (policy)"),
        ("a.b: date, one of 20454, 20455 (public)", "one of 2026-01-01, 2026-01-02 (public)"),
        (
            "a.b: timestamp, in the zone 'Europe/Bern', from 1 to 2 (estimated)",
            "from 1970-01-02 to 1970-01-03 (estimated)",
        ),
        (f"a.b: date, from {FIRST} to {LAST} (public)", "from 0001-01-01 to 9999-12-31"),
        ("a: at most 1 groups of 1 rows", "a: at most 1 group of 1 row"),
        ("a: nobody has more than 1 rows (once)", "a: nobody has more than 1 row (once)"),
    ],
)
def test_a_fact_is_shown_in_words(fact: str, shown: str) -> None:
    assert shown in fact_text(fact)


@pytest.mark.parametrize(
    "fact",
    [
        "a.b: integer, from 20454 to 20818 (public)",
        "a.date: decimal, steps of 0.01, from 1 to 2 (public)",
        "a.b: date, from 20454000 to 99999999 (public)",  # of no day
        "a: at most 11 groups of 21 rows",
        "a.b: text, one of 'date, from 1 to 2' (public)",
        "a.b: text, one of '1.1 rows' (public)",
    ],
)
def test_other_facts_stay_as_they_are(fact: str) -> None:
    assert fact_text(fact) == fact
