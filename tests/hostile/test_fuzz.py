"""Strings by the hundred thousand: no crash, and what is understood can be said again."""

import os
from dataclasses import replace

import pytest
from conftest import Bar
from fuzzing import SLOWEST, Fuzz
from mutate import QUESTIONS, string

from tacit.core.catalog import Catalog
from tacit.plan.plan import Filter, Plan
from tacit.sql.parser import parse
from tacit.sql.printer import show

STRINGS = int(os.environ.get("TACIT_FUZZ", "100000"))
PARTS = 4
LEAST_PARSED = 0.15


@pytest.mark.parametrize("part", range(PARTS))
def test_no_string_does_more_than_ask_or_be_refused(part: int, bar: Bar) -> None:
    fuzz = Fuzz()
    for number in range(part, STRINGS, PARTS):
        fuzz.check(string(number))
    named = f"fuzz, part {part + 1} of {PARTS}"
    share = fuzz.parsed / max(1, fuzz.tried)
    bar(
        f"{named}: strings",
        fuzz.tried,
        f">= {STRINGS // PARTS}",
        fuzz.tried >= STRINGS // PARTS,
    )
    bar(f"{named}: understood", share, f">= {LEAST_PARSED}", share >= LEAST_PARSED)
    bar(f"{named}: answered on DuckDB", fuzz.priced, ">= 1", fuzz.priced >= 1)
    for name, found in (
        ("crashes", fuzz.crashes),
        ("said again otherwise", fuzz.broken),
        (f"longer than {SLOWEST} plain questions", fuzz.slow),
    ):
        bar(f"{named}: {name}", len(found), "0", not found)
        assert not found, found[:3]


def test_a_string_is_made_by_its_number_alone() -> None:
    assert [string(number) for number in range(50)] == [string(number) for number in range(50)]
    assert len({string(number) for number in range(500)}) > 450


def test_the_questions_themselves_are_understood() -> None:
    fuzz = Fuzz()
    for question in QUESTIONS:
        fuzz.check(question)
    assert fuzz.parsed == len(QUESTIONS)


def without_where(plan: Plan, catalog: Catalog) -> str:
    """A lie: the text of a question that forgets its conditions."""
    source = plan.source
    while isinstance(source, Filter):
        source = source.source
    return show(replace(plan, source=source), catalog)


def trusting(text: str, catalog: Catalog) -> Plan:
    """A lie: a reader that takes every number for one that a machine holds."""
    if "1e400" in text:
        float(10**400)
    return parse(text, catalog)


def test_broken_readers_and_writers_are_found() -> None:
    forgetful, careless = Fuzz(show=without_where), Fuzz(parse=trusting)
    for number in range(1_000):
        forgetful.check(string(number))
        careless.check(string(number))
    assert forgetful.broken
    assert not forgetful.crashes
    assert any("OverflowError" in crash for crash in careless.crashes)
