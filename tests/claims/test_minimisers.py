"""Figures of regularised minimisers: T50 to T52, each with its lie."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from conftest import Bar
from fitted_rows import table_of, training_like

from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.core.unseal import unseal
from tacit.errors import UnknownName
from tacit.ml.clipped_sum import STEPS, Floats
from tacit.ml.margin_loss import HINGE, LOGISTIC, MarginLoss
from tacit.ml.output_perturbation import NoisyMinimiser, OutputPerturbation
from tacit.ml.registry import model_of
from tacit.ml.regularised_risk import RegularisedRisk

pytestmark = pytest.mark.claim

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


def noisy(
    curve: MarginLoss, penalty: float, relation: Neighbours, tolerance: float = 0.001
) -> NoisyMinimiser:
    return NoisyMinimiser(curve, penalty, tolerance, 1, 1, relation, Loss.zcdp("0.1"))


def moved(one: NoisyMinimiser, left: Floats, right: Floats) -> float:
    """How far apart the exact weights of two tables are, in the units of the weights."""
    steps = [one.steps(np.asarray(table).reshape(len(table), -1)) for table in (left, right)]
    return float(np.linalg.norm(steps[0] - steps[1])) * one.step


def certificate(one: NoisyMinimiser) -> float:
    return float(one.moved.amount) * one.step


@pytest.mark.parametrize(("convention", "times"), [("whole", 2), ("half", 1)])
def test_t50_one_unit_moves_the_minimiser_as_far_as_is_charged(
    convention: str, times: int, bar: Bar
) -> None:
    """The hinge with lambda = 2 and 40 rows: lambda |w|^2, and half of it."""
    size, strength = 40, 2.0
    one = noisy(HINGE, times * size * strength, REPLACE)
    numbers = np.random.default_rng(50)
    pairs = [(np.ones(size), np.append(np.ones(size - 1), -1))]
    for _ in range(20):  # signed rows anywhere, and one of them for another
        rows = numbers.uniform(-1, 1, size)
        pairs.append((np.append(rows[1:], 1), np.append(rows[1:], -1)))
    most, charged = max(moved(one, *pair) for pair in pairs), certificate(one)
    text = f"T50 {convention} penalty: a row moves the weights by"
    wanted = 2 / (times * size * strength)
    bar(text, most, f"{wanted}, charged {charged:.5f}", 0.99 * charged <= most <= charged)
    if convention == "half":
        # the lie: the lectures' 1 / (lambda n), for the penalty that it is not true of
        claimed = 1 / (strength * size)
        bar(
            "T50 the same, where 1 / (lambda n) is claimed",
            most,
            f"> {claimed}",
            most > claimed,
        )


def test_t50_a_unit_that_comes_moves_half_as_far_as_one_replaced(bar: Bar) -> None:
    one, rows = noisy(HINGE, 80.0, ADD), np.ones(40)
    far, charged = moved(one, rows, rows[1:]), certificate(one)
    bar("T50 a row that comes moves by", far, f"0.0125, charged {charged:.5f}", far <= charged)
    assert far >= 0.99 * charged


def test_t51_an_intercept_is_regularised_or_there_is_none(bar: Bar) -> None:
    """Rows of zeros, and one of 20 labels flipped: only the intercept can follow."""
    features, labels = np.zeros((20, 1)), np.ones(20, dtype=np.int64)
    other = labels.copy()
    other[0] = 0
    model = OutputPerturbation(bounds=(-1, 1), penalty=400.0)
    training = training_like(features, labels, REPLACE)
    scaled = model.rows(training)
    one = model.noisy(training, scaled)

    def signed(classes: Any) -> Floats:
        (rows,) = unseal(table_of(scaled, features, classes)).blocks()
        return np.asarray(scaled.features(rows) * (2 * rows[:, -1:] - 1))

    far, charged = moved(one, signed(labels), signed(other)), certificate(one)
    bar(
        "T51 a flipped label moves a regularised intercept by",
        far,
        f"<= {charged:.5f}",
        far <= charged,
    )
    # the lie: an intercept whose penalty is next to nothing, with the noise of that of others
    same = np.full((20, 1), STEPS)
    flipped = same.copy()
    flipped[0] = -STEPS
    free = [
        RegularisedRisk(LOGISTIC, 1e-6, rows).minimiser(Fraction(1, 10**5))
        for rows in (same, flipped)
    ]
    lie = abs(float(free[0][0] - free[1][0]))
    bar(
        "T51 the same label moves a free one by",
        lie,
        f"> 1000 x {charged:.5f}",
        lie > 1000 * charged,
    )
    with pytest.raises(UnknownName, match="no settings called penalise_intercept"):
        model_of('{"model":"OutputPerturbation","settings":{"penalise_intercept":false}}')


class Edge(RegularisedRisk):
    """As far from the minimiser as the certificate allows, in the worst direction."""

    def minimiser(self, tolerance: Fraction) -> Floats:
        exact = super().minimiser(Fraction(1, 1000))
        found = exact * (1 + 0.99 * float(tolerance) / self.penalty / np.linalg.norm(exact))
        assert self.at(found).longest <= tolerance
        return np.asarray(found)


class Hasty(RegularisedRisk):
    """A lie: one step of Newton's, whether it has arrived or not."""

    def minimiser(self, tolerance: Fraction) -> Floats:
        del tolerance
        start = np.zeros(self.rows.shape[1])
        bent = self._curvature(start, self.penalty)
        return np.asarray(-np.linalg.solve(bent, self.at(start).floats))


def test_t52_a_solver_that_stops_early_is_charged_for(
    bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.ml.output_perturbation.RegularisedRisk", Edge)
    loose, tight = noisy(HINGE, 80.0, REPLACE, tolerance=0.5), noisy(HINGE, 80.0, REPLACE)
    # opposite rows alone, so that the two solvers stop short in opposite directions
    far = moved(loose, np.ones(1), -np.ones(1))
    charged, exact = certificate(loose), certificate(tight)
    bar("T52 stopped at a gradient of 0.5, moved by", far, f"<= {charged:.5f}", far <= charged)
    bar("T52 the same, with nothing charged for it", far, f"> {exact:.5f}", far > exact)


def test_t52_it_goes_on_until_it_is_certain(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    one = noisy(LOGISTIC, 1.0, ADD)
    # the first of Newton's steps is far too long here, and one row tells how long
    rest = np.full(10_000, 0.02)
    pair = rest, np.append(rest, -1.0)
    far, charged = moved(one, *pair), certificate(one)
    bar("T52 certified minimisers are apart by", far, f"<= {charged:.4f}", far <= charged)
    monkeypatch.setattr("tacit.ml.output_perturbation.RegularisedRisk", Hasty)
    lie = moved(one, *pair)
    bar("T52 and those of one step", lie, f"> {charged:.4f}", lie > charged)
