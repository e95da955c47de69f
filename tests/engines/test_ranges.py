"""The range of a number, which is derived before any row is read, holds for every row.

Noise is chosen by these ranges, cells of a quantile are counted by them, and nothing is clamped
again. Numbers are generated over generated columns, and computed for ordinary and extreme rows.
"""

import os
from dataclasses import replace
from fractions import Fraction

from conftest import Bar
from made_catalog import catalog
from made_expression import Maker

from tacit.audit.synthetic_people import Choices, any_cell
from tacit.engines.reference import Row, steps
from tacit.errors import TacitError
from tacit.plan.bounding import gather
from tacit.plan.lowering import number
from tacit.plan.number_functions import extreme
from tacit.plan.plan import Scan
from tacit.plan.steps import ExtremeSteps, Ranged, WholeSteps

NUMBERS = int(os.environ.get("TACIT_RANGES", "3000"))
ROWS = 12


def numbered(place: int) -> tuple[Ranged | None, list[Row]]:
    """A number and rows that it is computed for; None where it is refused."""
    choices = Choices(f"tacit range {place}")
    made = catalog(choices)
    dataset = choices.one(made.datasets)
    scope = gather(Scan(dataset.name), made).scope
    rows: list[Row] = [
        {column.name: any_cell(column, choices) for column in scope.columns}
        for _ in range(ROWS)
    ]
    expression = Maker(scope, choices, 1 + choices.below(6)).number()
    try:
        return number(expression, scope), rows
    except TacitError:
        return None, rows


def outside(found: Ranged, rows: list[Row]) -> list[int]:
    """The numbers that are not in their range."""
    computed = [steps(found.steps, row) for row in rows]
    return [
        each for each in computed if each is not None and not found.low <= each <= found.high
    ]


def test_no_number_leaves_its_range(bar: Bar) -> None:
    asked = computed = 0
    left: list[str] = []
    for place in range(NUMBERS):
        found, rows = numbered(place)
        if found is None:
            continue
        asked += 1
        computed += sum(steps(found.steps, row) is not None for row in rows)
        if outside(found, rows):
            left.append(f"{place}: {found}")
    bar("numbers with a range", asked, f">= {NUMBERS // 3}", asked >= NUMBERS // 3)
    bar("values of rows in their range", computed, f">= {NUMBERS}", computed >= NUMBERS)
    bar("numbers that leave their range", len(left), "0", not left)
    assert not left, left[:3]


def test_a_range_that_is_too_narrow_is_seen() -> None:
    """The lie: a range that ends one step too early at one side."""
    seen = 0
    for place in range(200):
        found, rows = numbered(place)
        if found is not None and found.high > found.low:
            seen += bool(outside(replace(found, low=found.low + 1), rows))
            seen += bool(outside(replace(found, high=found.high - 1), rows))
    assert seen > 20


def test_a_constant_bounds_an_extreme_by_itself_and_not_by_its_range() -> None:
    wide = Ranged(WholeSteps(1), 0, 1, Fraction(1))
    least = extreme([wide, Ranged.constant(Fraction(5))], greatest=False)
    assert (least.low, least.high) == (0, 1)
    assert isinstance(least.steps, ExtremeSteps)
