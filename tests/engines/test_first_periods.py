"""In few steps of a stream a unit counts in its first: what that means, on every engine."""

from collections import defaultdict
from dataclasses import replace
from datetime import date, timedelta
from itertools import product

import clinic
import numpy as np
import pytest
from clinic_questions import WARDS
from engines_over import ENGINES, reference
from neighbouring import SALT, opened

from tacit.core.catalog import Catalog, Limits
from tacit.core.loss import Loss
from tacit.core.unseal import unseal
from tacit.engines.engine import Engine
from tacit.engines.reference import Row
from tacit.errors import InvalidValue
from tacit.plan.expression import Span
from tacit.sql.parser import parse
from tacit.stream.quote import bounded_step
from tacit.stream.stream import Periods, Stream

FIRST, STEPS = date(2020, 1, 15), 5
TEXTS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, COUNT(*), SUM(age) FROM visits WHERE room > 0 GROUP BY ward",
    "SELECT MONTH(until), COUNT(DISTINCT person) FROM visits GROUP BY MONTH(until)",
    "SELECT COUNT(*) FROM (SELECT person, day, until FROM visits GROUP BY person, day, until)",
)
LIMITS = (Limits(1, 2), Limits(2, 1, 1), Limits(2, 2, 3))


def visits(seed: int, span: Span) -> list[Row]:
    """Rows of seven people and of nobody, in, before and after all periods."""
    made = np.random.default_rng(seed)
    people = [None, "a", "A", " a", "", "b", "c", "Ä"]
    long = (STEPS + 1) * span.longest
    days = [FIRST + timedelta(days=int(day)) for day in made.integers(-long // 5, long, 90)]
    days[:3] = [date.min, date.max, date(2020, 2, 29)]
    return [
        dict.fromkeys(clinic.TYPES)
        | {
            "person": people[int(made.integers(len(people)))],
            "ward": [*WARDS, "elsewhere"][int(made.integers(len(WARDS) + 1))],
            "age": int(made.integers(130)),
            "room": [None, 0, 7, 9][int(made.integers(4))],
            "day": None if made.integers(12) == 0 else day,
            "until": day,
        }
        for day in days
    ]


def stream(text: str, span: Span, most: int, catalog: Catalog, day: str = "day") -> Stream:
    periods = Periods(day, span, FIRST, STEPS)
    return Stream(parse(text, catalog), periods, Loss.zcdp("0.1"), max_steps=most)


def found(engine: Engine, asked: Stream, catalog: Catalog, *, whole: bool = True) -> object:
    plans = [bounded_step(asked, number, catalog).plan for number in range(STEPS)]
    if not whole:
        plans = [replace(plan, first_periods=None) for plan in plans]
    return [opened(engine.run(plan, catalog, SALT)) for plan in plans]


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_finds_the_integers_of_the_reference(name: str) -> None:
    cases = list(product(TEXTS, (Span.WEEKS, Span.MONTHS), (1, 2, 4), LIMITS))
    differ = 0
    for seed, (text, span, most, limits) in enumerate(cases[:: 61 if name == "spark" else 7]):
        catalog, rows = clinic.catalog(limits), {clinic.TABLE: visits(seed, span)}
        asked = stream(text, span, most, catalog, "until" if seed % 3 == 1 else "day")
        engine, meaning = ENGINES[name](catalog, rows), reference(catalog, rows)
        meant = found(meaning, asked, catalog)
        assert found(engine, asked, catalog) == meant, (text, span, most, limits)
        # the lie: all rows so far, of every period of everybody
        differ += found(meaning, asked, catalog, whole=False) != meant
    assert differ


@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_unit_counts_in_the_first_periods_that_it_has_rows_in(most: int) -> None:
    """By another route: sets of weeks in plain Python."""
    catalog, rows = clinic.catalog(Limits(1, 10**6)), visits(0, Span.WEEKS)
    weeks = defaultdict(list)
    for row in rows:
        if row["person"] is not None and row["day"] is not None:
            week = (row["day"].toordinal() - Span.WEEKS.start(FIRST).toordinal()) // 7
            weeks[row["person"]] += [week] if 0 <= week < STEPS else []
    counts = [
        sum(own.count(step) for own in weeks.values() if step in sorted(set(own))[:most])
        for step in range(STEPS)
    ]
    asked = stream(TEXTS[0], Span.WEEKS, most, catalog)
    engine = reference(catalog, {clinic.TABLE: rows})
    plans = [bounded_step(asked, step, catalog).plan for step in range(STEPS)]
    tables = [engine.run(plan, catalog, SALT).tallies[0] for plan in plans]
    assert [unseal(table).tolist() for table in tables] == [[count] for count in counts]
    assert most == 4 or sum(counts) < sum(map(len, weeks.values()))


def test_periods_beyond_the_bounds_of_days_are_refused() -> None:
    """Clamped to them, many would be taken for one, and a unit be in more than it may."""
    catalog = clinic.catalog(LIMITS[0])
    far = Periods("until", Span.YEARS, FIRST, 3)
    asked = Stream(parse(TEXTS[0], catalog), far, Loss.zcdp("0.1"), max_steps=1)
    with pytest.raises(InvalidValue, match=r"2019-12-30 to 2021-03-01\. Declare wider bounds"):
        bounded_step(asked, 0, catalog)
    bounded_step(replace(asked, max_steps=None), 0, catalog)
    bounded_step(replace(asked, periods=replace(far, horizon=2)), 0, catalog)
