"""Error counts of linear classifiers, and the private choice of the one with the fewest errors.

`LinearRule` classifies rows in exact integer arithmetic, so that one row's classification never
depends on the other rows. `FewestErrors` selects one of several classifiers by the exponential
mechanism on their numbers of errors. `scored_rows` and `rule_of` take the rows and the
decision rule from a fitted estimator of this package.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tacit.core import Column, Event, Key, Neighbours, Norm, Parameter, Rule, Sensitivity
from tacit.engines import UnitRows
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms import Exponential, Gateway, inside
from tacit.ml.finite_algebra import finite
from tacit.ml.pipeline import Pipeline, of_part
from tacit.ml.sufficient_statistics import Points
from tacit.noise import Integers
from tacit.numeric import exact
from tacit.plan import Axis, Negation, RowsOf, RowSumTally, StepsAreNull, Training, label_steps

FINE = 2**60
"""The largest absolute score of a linear function in integers, before rounding of weights."""

BINARY = 2


@dataclass(frozen=True, slots=True)
class LinearRule:
    """A linear classifier: the class with the largest linear score, and the first of equals.

    The weights are public: they were given, or released before. They are rounded to integers,
    so that the class of a row depends on that row only. In a product of float matrices, the
    rounding can depend on the other rows.

    Example:
        >>> rule = LinearRule.of([[2.0, -1.0]], [0.5], classes=2)
        >>> rule.slopes[1], rule.starts
        ((Fraction(2, 1), Fraction(-1, 1)), (Fraction(0, 1), Fraction(1, 2)))
    """

    slopes: tuple[tuple[Fraction, ...], ...]
    starts: tuple[Fraction, ...]

    @classmethod
    def of(cls, coef: Any, intercept: Any, classes: int) -> "LinearRule":
        """Build the rule from scikit-learn's ``coef_`` and ``intercept_``.

        For two classes there is one row of weights, and otherwise one for each class.
        """
        try:
            slopes = np.atleast_2d(np.asarray(coef, dtype=np.float64))
            starts = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise InvalidValue(
                "The weights and intercepts of a linear classifier must be numbers."
            ) from error
        lines = 1 if classes == BINARY else classes
        finite = bool(np.isfinite(slopes).all() and np.isfinite(starts).all())
        if slopes.shape != (lines, slopes.shape[-1]) or starts.shape != (lines,) or not finite:
            raise InvalidValue(
                f"A linear classifier for {classes} classes needs {lines} rows of finite "
                "weights and as many intercepts, but arrays of shapes "
                f"{slopes.shape} and {starts.shape} were given."
            )
        rows = [tuple(map(exact, row)) for row in slopes.tolist()]
        ends = [exact(start) for start in starts.tolist()]
        if classes == BINARY:  # the first class has the score 0
            rows.insert(0, (Fraction(0),) * slopes.shape[1])
            ends.insert(0, Fraction(0))
        return cls(tuple(rows), tuple(ends))

    def error_indicators(self, rows: Integers, axes: Sequence[Axis]) -> Integers:
        """Return 1 for each row that is misclassified, and 0 for each other row.

        The first number of a row is its unit, the last is the index of its class, and the
        numbers between them are its features.
        """
        weights, starts = self._weights(axes)
        heights = rows[:, 1:-1] @ weights.T + starts  # integers: exact, and row by row
        return np.asarray(heights.argmax(axis=1) != rows[:, -1], dtype=np.int64)

    def check(self, axes: Sequence[Axis]) -> None:
        """Check that the rule has one weight for each of the ``axes``."""
        if any(len(row) != len(axes) for row in self.slopes):
            raise InvalidValue(
                f"The linear classifier has {len(self.slopes[0])} weights per class, but "
                f"there are {len(axes)} features; give one weight for each feature."
            )

    def _weights(self, axes: Sequence[Axis]) -> tuple[Integers, Integers]:
        """Return the weights and intercepts as integers in one common unit, within 62 bits."""
        self.check(axes)
        weights = [[s * a.unit for s, a in zip(row, axes, strict=True)] for row in self.slopes]
        starts = [
            start + sum(slope * axis.centre for slope, axis in zip(row, axes, strict=True))
            for row, start in zip(self.slopes, self.starts, strict=True)
        ]
        highest = max(
            abs(start) + sum(abs(w) * axis.reach for w, axis in zip(row, axes, strict=True))
            for row, start in zip(weights, starts, strict=True)
        )
        fine = FINE / (highest or Fraction(1))
        return (
            np.array([[round(w * fine) for w in row] for row in weights], dtype=np.int64),
            np.array([round(start * fine) for start in starts], dtype=np.int64),
        )


# ------------------------------------------------------------------ choice by error counts

TWO = 2


@dataclass(frozen=True, slots=True)
class Labelled:
    """Rows with numbers on all ``axes`` and a target that is one of the public ``classes``."""

    axes: tuple[Axis, ...]
    target: Column | None
    classes: tuple[Key, ...]

    def __post_init__(self) -> None:
        if self.target is None or len(set(self.classes)) < max(TWO, len(self.classes)):
            raise InvalidValue(
                "Counting errors needs a target and at least two different public classes, "
                f"but {len(self.classes)} were given."
            )

    def step(self, training: Training) -> RowsOf:
        """Return the step of a fit that reads the unit, the features and the class index."""
        if self.target is None:
            raise InternalError("Labelled rows must have a target.")
        columns = [(axis.steps, axis.reach) for axis in self.axes]
        columns.append((label_steps(self.target, self.classes), len(self.classes)))
        tallies = [RowSumTally(steps, -reach, reach) for steps, reach in columns]
        there = [Negation(StepsAreNull(steps)) for steps, _ in columns]
        return RowsOf(training.plan(tallies, *there))


@dataclass(frozen=True, slots=True)
class FewestErrors:
    """A private choice among ``candidates`` classifiers that prefers few misclassified rows.

    Guarantee: one unit changes each error count by at most the number of its rows, so that the
    choice has a pure loss of ``epsilon``. Where units are added or removed, all counts change
    in the same direction, and the weights are exp(-epsilon * errors / rows). Where a unit is
    replaced, the rate is half as large.

    Example:
        >>> FewestErrors(Fraction(1, 2), 10).mechanism(Neighbours.ADD_REMOVE, 1).rate
        Fraction(1, 2)
        >>> FewestErrors(Fraction(1, 2), 10).mechanism(Neighbours.REPLACE_ONE, 1).rate
        Fraction(1, 4)
    """

    epsilon: Fraction
    candidates: int

    def mechanism(self, neighbours: Neighbours, max_rows: int) -> Exponential:
        """Return the exponential mechanism whose pure loss is epsilon."""
        one_way = neighbours is Neighbours.ADD_REMOVE
        rate = self.epsilon / (max_rows if one_way else TWO * max_rows)
        return Exponential(rate, self.candidates, monotone=one_way)

    def event(self, training: Training) -> Event:
        """Describe the release for the accountant: one selection."""
        mechanism = self.mechanism(training.neighbours, training.max_rows)
        return mechanism.event(_sensitivity(training))

    def choose(
        self,
        rules: Sequence[LinearRule],
        rows: Labelled,
        training: Training,
        gateway: Gateway,
    ) -> Generator[RowsOf, Any, int]:
        """Release the index of one of the ``rules``; the error counts are not released.

        The rows are read once for all rules.
        """
        table = yield rows.step(training)

        def scores(found: UnitRows) -> Integers:
            errors = [0] * len(rules)
            for block in found.blocks(len(rows.classes)):
                more = [int(rule.error_indicators(block, rows.axes).sum()) for rule in rules]
                errors = [one + other for one, other in zip(errors, more, strict=True)]
            return np.array([-count for count in errors])

        mechanism = self.mechanism(training.neighbours, training.max_rows)
        return int(mechanism.release(inside(table, scores), _sensitivity(training), gateway)[0])


def _sensitivity(training: Training) -> Sensitivity:
    rule = Rule("a unit's rows are errors or are not", (f"max_rows={training.max_rows}",))
    return Sensitivity.of(training.max_rows, Norm.LINF, rule)


# ------------------------------------------------------------------ scoring fitted estimators


def scored_rows(model: Any, training: Training) -> Labelled:
    """Return the labelled rows of ``training`` on which a linear classifier is scored.

    Example:
        >>> from tacit.ml.naive_bayes import GaussianNB
        >>> scored_rows(GaussianNB(), None)
        Traceback (most recent call last):
        tacit.errors.InvalidValue: GaussianNB cannot be scored; use a linear classifier.
    """
    last = model.model if isinstance(model, Pipeline) else model
    if not hasattr(last, "decision_function") or not is_classifier(last):
        name = type(last).__name__
        raise InvalidValue(f"{name} cannot be scored; use a linear classifier.")
    bounds = model.scaler.bounds if isinstance(model, Pipeline) else model.bounds
    axes = Points.of(training.features, bounds).axes
    return Labelled(axes, training.target, tuple(np.asarray(last.classes).tolist()))


def rule_of(model: Any, parameters: Iterable[Parameter]) -> LinearRule:
    """Return the decision rule of a classifier from its released ``parameters``.

    The weights are in the units of the columns, also where a pipeline has scaled the columns.
    """
    found = tuple(parameters)
    if isinstance(model, Pipeline):
        first, last = (str(name) for name, _ in model.parts)
        scaler = _numbers(of_part(first, found))
        line = _numbers(of_part(last, found))
        slopes = finite(np.atleast_2d(line["coef_"]) / scaler["scale_"])
        starts = np.atleast_1d(line["intercept_"]) - slopes @ scaler["mean_"]
        return LinearRule.of(finite(slopes), finite(starts), len(model.model.classes))
    line = _numbers(found)
    return LinearRule.of(line["coef_"], line["intercept_"], len(model.classes))


def _numbers(parameters: Iterable[Parameter]) -> dict[str, Any]:
    return {each.name: np.asarray(each.nested, dtype=np.float64) for each in parameters}
