"""No row makes a minimiser slow: how often rows are read has a bound that no table passes.

A support vector machine with a small penalty took floats 0.5 seconds, and minutes of integers
where one person's row stood on the wrong side: a fit that ends by its time tells of them.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.errors import InternalError, InvalidValue
from tacit.ml import margin_loss, regularised_risk
from tacit.ml.clipped_sum import STEPS, clipped_steps
from tacit.ml.margin_loss import (
    HINGE,
    LOGISTIC,
    Ellipsoid,
    ExactRisk,
    MarginLoss,
    most_cuts,
    steepest_gradient,
)
from tacit.ml.output_perturbation import MOST_STEPS, NoisyMinimiser
from tacit.ml.regularised_risk import RegularisedRisk, least_tolerance
from tacit.noise.integers import Integers

FEW = 96
"""Readings of the rows by floats that are enough for every table here."""


def split(people: int, *, target: bool) -> Integers:
    """Two classes that a plane tells apart, but for one person's row."""
    features = np.random.default_rng(0).uniform(-1, 1, (people, 3))
    signs = np.where(features[:, 0] > 0, 1.0, -1.0)
    if target:
        features, signs = np.vstack([features, features[:1]]), np.append(signs, -signs[0])
    with_constant = np.column_stack([np.ones(len(features)), features])
    return clipped_steps(with_constant * signs[:, None], 1.0)


def hostile(seed: int, people: int) -> Integers:
    """Rows that are equal, on few lines, of many sizes, or nearly so; some signs are wrong."""
    draw = np.random.default_rng(seed)
    size = 1 + seed % 6
    rows = draw.uniform(-1, 1, (people, size))
    match seed % 7:
        case 0:
            rows[:] = rows[:1]
        case 1:
            rows = np.round(rows)
        case 2:
            rows *= 10.0 ** draw.integers(-6, 1, (people, 1))
        case 3:
            rows *= 10.0 ** draw.integers(-6, 1, (1, size))
        case 4:
            rows = rows[draw.integers(0, 3, people)]
        case 5:
            rows = rows[:1] * draw.choice([1, -1], (people, 1)) + 1e-6 * rows
        case _:
            rows = np.where(rows > 0, 1.0, -1.0) * 10.0 ** draw.integers(-5, 1, (1, size))
    signs = np.where(rows[:, 0] > 0, 1.0, -1.0)
    signs[: 1 + people * (seed % 3) // 100] *= -1
    return clipped_steps(rows * signs[:, None], 1.0)


class Counted(RegularisedRisk):
    """Counts how often floats read the rows."""

    passes = 0

    def _blocks(self) -> Any:
        Counted.passes += 1
        return RegularisedRisk._blocks(self)


def by_floats(curve: MarginLoss, penalty: float, rows: Integers, tolerance: float) -> int:
    """How often floats read the rows until they are certain; many times where they are not."""
    Counted.passes, near = 0, Fraction(tolerance)
    _, left = Counted(curve, penalty, rows)._by_floats(near)
    return Counted.passes if left <= near else 10**9


@pytest.mark.parametrize("people", [40, 2500])
def test_one_row_makes_floats_read_a_few_times_more(people: int) -> None:
    passes = [
        by_floats(HINGE, 1e-6, split(people, target=there), 0.0145) for there in (False, True)
    ]
    assert max(passes) <= FEW
    assert max(passes) <= 4 * min(passes)


def most_passes(curve: MarginLoss, penalty: float) -> int:
    """How often rows are read at most, of many hostile tables."""
    found = []
    for seed in range(28):
        rows = hostile(seed, 300)
        least = float(least_tolerance(curve, penalty, rows.shape[1]))
        found.append(by_floats(curve, penalty, rows, max(0.001, 1.001 * least)))
    return max(found)


@pytest.mark.parametrize("curve", [HINGE, LOGISTIC])
@pytest.mark.parametrize("penalty", [1e-12, 1e-9, 1e-6, 1e-2, 100.0])
def test_floats_arrive_on_hostile_rows(curve: MarginLoss, penalty: float) -> None:
    passes = most_passes(curve, penalty)
    assert passes <= FEW, f"{passes} passes"


def test_floats_that_begin_at_a_small_penalty_do_not_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(regularised_risk, "penalties", lambda last: [last])  # the lie
    assert most_passes(HINGE, 1e-9) > FEW


# ------------------------------------------------------------- where floats do not


def cuts(risk: RegularisedRisk, tolerance: Fraction, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often integers read the rows, where floats do not try."""
    seen = [0]

    def counted(exact: ExactRisk, weights: Any) -> Any:
        seen[0] += 1
        return gradient(exact, weights)

    gradient = ExactRisk.gradient
    with monkeypatch.context() as patch:
        patch.setattr(regularised_risk, "MOST_NEWTON_STEPS", 0)
        patch.setattr(ExactRisk, "gradient", counted)
        found = risk.minimiser(tolerance).tolist()
    exact = ExactRisk(risk.loss, Fraction(risk.penalty), STEPS, risk._blocks)
    true = exact.gradient([Fraction(weight) for weight in found])
    assert sum(part**2 for part in true) <= tolerance**2
    return seen[0]


@pytest.mark.parametrize("curve", [HINGE, LOGISTIC])
@pytest.mark.parametrize(("penalty", "tolerance"), [(1e-14, 1.0), (1e-6, 1e-3), (2.0, 1e-3)])
def test_integers_end_within_their_public_number_of_steps(
    curve: MarginLoss, penalty: float, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(7):
        rows, near = hostile(seed, 30)[:, :4], Fraction(tolerance)
        risk = RegularisedRisk(curve, penalty, rows)
        steepest = steepest_gradient(curve, Fraction(penalty), len(rows))
        most = most_cuts(rows.shape[1], steepest, risk._reach(), near)
        assert cuts(risk, near, monkeypatch) <= most


def test_integers_that_keep_the_wrong_half_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(ellipsoid: Ellipsoid, normal: Any) -> None:
        cut(ellipsoid, [-part for part in normal])

    cut = Ellipsoid.cut
    monkeypatch.setattr(Ellipsoid, "cut", wrong)
    with pytest.raises(InternalError, match="proven number of steps"):
        cuts(RegularisedRisk(HINGE, 1.0, hostile(3, 30)), Fraction(1, 1000), monkeypatch)


def outside(size: int, steps: int, across: Any = margin_loss._factors) -> float:
    """How far beyond a cut ellipsoid a point of the half that is kept can lie."""
    draw, bits = np.random.default_rng(size), 200
    ellipsoid = Ellipsoid.ball([0] * size, Fraction(1), bits)
    most = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(margin_loss, "_factors", across)
        for _ in range(steps):
            centre = np.array([each / 2**bits for each in ellipsoid.centre])
            matrix = np.array([[each / 2**bits for each in row] for row in ellipsoid.matrix])
            normal = draw.normal(size=size)
            ball = draw.normal(size=(2000, size))
            ball /= np.linalg.norm(ball, axis=1)[:, None]
            points = ball @ matrix.T
            points = points[points @ normal <= 0] + centre
            ellipsoid.cut([Fraction(part) for part in normal.tolist()])
            centre = np.array([each / 2**bits for each in ellipsoid.centre])
            matrix = np.array([[each / 2**bits for each in row] for row in ellipsoid.matrix])
            own = np.linalg.solve(matrix, (points - centre).T)
            most = max(most, float(np.linalg.norm(own, axis=0).max(initial=0.0)))
    return most - 1


@pytest.mark.parametrize("size", [1, 2, 5])
def test_half_an_ellipsoid_lies_in_the_next(size: int) -> None:
    assert outside(size, 10) <= 1e-9
    if size > 1:  # the lie: the next one is no wider than the last
        known = margin_loss._factors(size)
        assert outside(size, 10, lambda _: (2**margin_loss.FINE, known[1])) > 1e-3


def test_each_cut_takes_volume_by_the_factor_of_the_proof() -> None:
    for size in (1, 2, 5, 20):
        across, along = (
            Fraction(each, 2**margin_loss.FINE) for each in margin_loss._factors(size)
        )
        assert float(along * across ** (size - 1)) <= np.exp(-1 / (2 * (size + 1)))


def test_what_could_take_too_many_steps_is_refused_before_any_data() -> None:
    def noisy(size: int, penalty: float = 100.0) -> NoisyMinimiser:
        loss = Loss.zcdp("0.5")
        return NoisyMinimiser(LOGISTIC, penalty, 0.001, size, 1, Neighbours.ADD_REMOVE, loss)

    with pytest.raises(InvalidValue, match=r"use at most \d+ weights") as refused:
        noisy(60)
    fewer = int(str(refused.value).partition("; use at most ")[2].split()[0])
    assert noisy(fewer).dimensions == fewer >= 20
    assert MOST_STEPS == 2**15
