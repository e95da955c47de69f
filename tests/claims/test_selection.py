"""Which classifier to take, and a holdout that is used again: at their real size.

A claim falls short of its bar by chance with a probability below 10^-6.
"""

from fractions import Fraction

import numpy as np
import pytest
from conftest import Bar
from numpy.typing import NDArray

from tacit.core.privacy_unit import Neighbours
from tacit.core.secret import Secret
from tacit.mechanisms.gateway import LiveGateway
from tacit.ml.error_counts import FewestErrors
from tacit.ml.estimator import Arrays
from tacit.ml.model_selection import ClassifierChoice
from tacit.numeric.entropy import SystemEntropy
from tacit.query.paid_work import fit_parameters
from tacit.stream.holdout import STEPS, HoldoutAnswer, HoldoutState, Thresholdout

Table = NDArray[np.int64]

CLASSIFIERS, ROWS, FITS = 10, 1000, 100
ERRORS = np.arange(20, 20 + CLASSIFIERS) / 100


def validation() -> Arrays:
    """Rows of class 0 at equal distances: a classifier errs on those below its own number."""
    return Arrays((np.arange(ROWS)[:, None] + 0.5) / ROWS, np.zeros(ROWS, dtype=np.int64))


class OfRates(ClassifierChoice):
    """A lie about the lecture's example: errors are parts of 1, and one row moves them by 1."""

    def _choice(self):  # type: ignore[no-untyped-def] # noqa: ANN202
        self.epsilon /= ROWS
        try:
            return super()._choice()
        finally:
            self.epsilon *= ROWS


@pytest.mark.parametrize("kind", [ClassifierChoice, OfRates])
def test_t61_the_chosen_classifier_errs_hardly_more_than_the_best(
    kind: type[ClassifierChoice], bar: Bar
) -> None:
    choice = kind([([-1.0], error) for error in ERRORS], epsilon=0.5, bounds=(0, 1))
    rows = validation()
    data, training = rows.data(), rows.training
    fits = [
        fit_parameters(choice, training, data, b"a charge")
        for _ in range(20 if kind is OfRates else FITS)
    ]
    chosen = [parameters[0].nested for parameters in fits]
    excess = float(np.mean(ERRORS[chosen] - ERRORS[0]))
    if kind is OfRates:
        assert excess > 0.001
        return
    bar("T61: mean excess error at epsilon 0.5", excess, "<= 0.001", excess <= 0.001)


def test_t61_the_law_of_the_choice_under_both_relations(bar: Bar) -> None:
    for relation, wanted in ((Neighbours.ADD_REMOVE, 0.993), (Neighbours.REPLACE_ONE, 0.918)):
        rate = float(FewestErrors(Fraction(1, 2), 10).mechanism(relation, 1).rate)
        weights = np.exp(-rate * ROWS * (ERRORS - ERRORS[0]))
        best, off = float(1 / weights.sum()), float(weights @ (ERRORS - ERRORS[0]))
        name = f"T61: probability of the best classifier, {relation.value}"
        bar(name, best, str(wanted), abs(best - wanted) < 0.001)
        bar("T61: mean excess error of that law", off * best, "<= 0.001", off * best <= 0.001)


SIZE, SIGNS = 4000, 20
ASKED = Thresholdout(Fraction(3), answers=5, rows=SIZE, threshold=Fraction("0.08"))


class Samples:
    """Rows of signs and the sign that they are to tell, which some features may tell of."""

    def __init__(self, seed: int, told: float) -> None:
        numbers = np.random.default_rng(seed)
        self.labels = numbers.choice(np.array([-1, 1], dtype=np.int8), SIZE)
        self.signs = numbers.integers(0, 2, (SIZE, SIZE), dtype=np.int8) * 2 - 1
        tells = numbers.random((SIZE, SIGNS)) < told
        self.signs[:, :SIGNS] = np.where(tells, self.labels[:, None], self.signs[:, :SIGNS])

    def agreeing(self) -> Table:
        """In how many rows each feature is the label."""
        products = self.labels.astype(np.float32) @ self.signs.astype(np.float32)
        return np.asarray((products + SIZE) / 2, dtype=np.int64)

    def right(self, weights: Table) -> int:
        """How many rows the sign of the weighted features gets right; a draw is wrong."""
        scores = self.signs.astype(np.float32) @ weights.astype(np.float32)
        return int((scores * self.labels > 0).sum())


class Asker:
    """Shares of a holdout by Thresholdout; ``told`` counts what it read off."""

    def __init__(self) -> None:
        self.entropy = SystemEntropy(b"a charge")
        self.kept: HoldoutState = ASKED.start(self.entropy)

    def share(self, count: int, expected: Fraction) -> HoldoutAnswer:
        off = Secret(np.array([count * STEPS - SIZE * round(expected * STEPS)]))
        told, self.kept = ASKED.ask(expected, off, self.kept, LiveGateway(self.entropy))
        return told


class Trusting(Asker):
    """A lie: the holdout is looked at again and again, as if for the first time."""

    def share(self, count: int, expected: Fraction) -> HoldoutAnswer:
        del expected
        return HoldoutAnswer(Fraction(count, SIZE), off=True)


def reported(asker: Asker, told: float) -> tuple[float, float]:
    """The accuracy that an analyst reports who adapts to the holdout, and the true one."""
    train, holdout, fresh = (Samples(seed, told) for seed in (1, 2, 3))
    ours, theirs = train.agreeing(), holdout.agreeing()
    shares = [
        asker.share(int(count), Fraction(int(own), SIZE)).value
        for count, own in zip(theirs, ours, strict=True)
    ]
    weights = np.sign(ours - SIZE / 2).astype(np.int64)
    seen = np.array([float(share) for share in shares]) - 0.5
    weights[(seen * weights < 0.5 / SIZE**0.5) | (abs(ours / SIZE - 0.5) < 0.5 / SIZE**0.5)] = 0
    own = Fraction(train.right(weights), SIZE)
    accuracy = asker.share(holdout.right(weights), own).value
    return float(accuracy), fresh.right(weights) / SIZE


@pytest.mark.parametrize("told", [0.0, 0.1])
def test_t62_a_holdout_that_is_used_again_stays_one(told: float, bar: Bar) -> None:
    name = "with signal" if told else "no signal"
    naive, truth = reported(Trusting(), told)
    trusted = naive - truth
    if not told:
        bar(f"T62: naive optimism, {name}", trusted, ">= 0.10", trusted >= 0.10)
    asker = Asker()
    said, fresh = reported(asker, told)
    off = abs(said - fresh)
    bar(f"T62: Thresholdout's optimism, {name}", off, "<= 0.04", off <= 0.04)
    assert trusted > 0.04  # the lie does not pass
    assert asker.kept.left == ASKED.answers - 1
