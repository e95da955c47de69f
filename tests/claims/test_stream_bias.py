"""What a stream shows is right on average, at every step, for people who are in several.

Totals of one group lean together from step to step, because they share their noise: five low
ones in a row are little more than one draw. So the mean is taken over groups, whose noise is
fresh, and never over steps.
"""

from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from conftest import Bar

import tacit
from tacit.core.loss import Budget, Loss
from tacit.noise.integers import Integers
from tacit.plan.expression import Span
from tacit.stream.factor import ALL
from tacit.stream.sealed_noise import SealedNoise
from tacit.stream.stream import Periods

pytestmark = pytest.mark.claim

FIRST, WEEKS, MOST, HORIZON = date(2026, 1, 5), 6, 4, 40
CODES, FAR = 1000, 5.5
"""A mean lies 5.5 of its deviations away once in 10^7 runs; here are six steps."""


def visits() -> list[tuple[int, int]]:
    """A code and a week of each row; a person is in four weeks, with all rows of one code."""
    return [(code, (code + week) % WEEKS) for code in range(CODES) for week in range(MOST)]


def table(rows: list[tuple[int, int]]) -> pa.Table:
    days = [FIRST + timedelta(days=7 * week) for _, week in rows]
    codes = [code for code, _ in rows]
    return pa.table({"person": codes, "code": codes, "day": pa.array(days, pa.date32())})


class Leaning(SealedNoise):
    """The lie: noise that leans to one side, by a quarter of its deviation."""

    by = 0

    def at(self, number: int, draw: Callable[[], Integers]) -> Integers:
        return super().at(number, lambda: draw() - self.by)


def errors(rows: list[tuple[int, int]], path: Path, *, leans: bool = False) -> np.ndarray:
    """By step and code, how far what is shown is from the truth; through the whole path."""
    with tacit.open(
        table(rows),
        table="visits",
        population="people",
        unit="person",
        keys={"code": list(range(CODES))},
        max_groups=1,
        max_rows=1,
        budget=Budget(Loss.zcdp(50), Fraction(1, 10**6)),
        folder=path,
    ) as session:
        asked = session.sql("SELECT code, COUNT(*) AS n FROM visits GROUP BY code")
        periods = Periods("day", Span.WEEKS, FIRST, HORIZON)
        running = session.stream(asked, Loss.zcdp(50), periods, window=ALL, max_steps=MOST)
        if leans:
            deviation = float(running.quote.tallies[0].noise.variance) ** 0.5
            running._noise = Leaning(session.states, "lie", running.quote.factor)
            running._noise.by = round(deviation / 4)
        shown = [[float(n) for n in running.release()["n"].values] for _ in range(WEEKS)]
    exact = np.zeros((WEEKS, CODES))
    for code, week in visits():
        exact[week:, code] += 1
    return np.array(shown) - exact


def farthest(found: np.ndarray) -> float:
    """The mean error of the step that is worst, in deviations of a mean."""
    return float(np.abs(found.mean(axis=1) / found.std(axis=1)).max() * CODES**0.5)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    return errors(visits(), tmp_path_factory.mktemp("honest"))


def test_a_stream_is_right_on_average_at_every_step(honest: np.ndarray, bar: Bar) -> None:
    far = farthest(honest)
    bar("mean error of a stream, in deviations", far, f"below {FAR}", far < FAR)
    lean = float(np.corrcoef(honest)[-1, -2])
    bar("totals of two steps lean together by", lean, "0.4 to 0.8", 0.4 < lean < 0.8)


def test_noise_that_leans_to_one_side_is_caught(tmp_path: Path, bar: Bar) -> None:
    far = farthest(errors(visits(), tmp_path, leans=True))
    bar("lie: noise leans: mean error, in deviations", far, f"above {FAR}", far > FAR)


def test_rows_that_are_lost_are_caught(tmp_path: Path, bar: Bar) -> None:
    lost = [row for place, row in enumerate(visits()) if place % 10]
    far = farthest(errors(lost, tmp_path))
    bar("lie: a tenth of rows lost: mean error, in deviations", far, f"above {FAR}", far > FAR)
