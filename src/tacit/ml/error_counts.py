"""A public linear classifier, and the rows that it gets wrong, in whole numbers."""

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
from tacit.plan import Axis, KeptTally, NotSo, RowsOf, StepsAreNull, Training, label_steps

FINE = 2**60
"""No line is higher than this, nor lower, but for the rounding of its weights."""

BINARY = 2


@dataclass(frozen=True, slots=True)
class LinearRule:
    """Of the classes in their order the one whose line is highest, and of equals the first.

    Weights are public: given, or released before. They are rounded to integers, so that a row
    is classified by itself: a product of floats is rounded by the rows that stand beside it.

    Example:
        >>> rule = LinearRule.of([[2.0, -1.0]], [0.5], classes=2)
        >>> rule.slopes[1], rule.starts
        ((Fraction(2, 1), Fraction(-1, 1)), (Fraction(0, 1), Fraction(1, 2)))
    """

    slopes: tuple[tuple[Fraction, ...], ...]
    starts: tuple[Fraction, ...]

    @classmethod
    def of(cls, coef: Any, intercept: Any, classes: int) -> "LinearRule":
        """The rule of scikit-learn's ``coef_`` and ``intercept_``: one line, or one a class."""
        try:
            slopes = np.atleast_2d(np.asarray(coef, dtype=np.float64))
            starts = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise InvalidValue("A linear rule is made of numbers.") from error
        lines = 1 if classes == BINARY else classes
        finite = bool(np.isfinite(slopes).all() and np.isfinite(starts).all())
        if slopes.shape != (lines, slopes.shape[-1]) or starts.shape != (lines,) or not finite:
            raise InvalidValue(
                f"A linear rule for {classes} classes has {lines} rows of finite weights and "
                f"as many intercepts; {slopes.shape} and {starts.shape} were given."
            )
        rows = [tuple(map(exact, row)) for row in slopes.tolist()]
        ends = [exact(start) for start in starts.tolist()]
        if classes == BINARY:  # the first class is where the line is not above 0
            rows.insert(0, (Fraction(0),) * slopes.shape[1])
            ends.insert(0, Fraction(0))
        return cls(tuple(rows), tuple(ends))

    def missed(self, rows: Integers, axes: Sequence[Axis]) -> Integers:
        """1 for each row whose last number, the place of its class, is another than the rule's.

        The first number of a row is its unit, and those between are its features.
        """
        weights, starts = self._weights(axes)
        heights = rows[:, 1:-1] @ weights.T + starts  # of integers: exact, and row by row
        return np.asarray(heights.argmax(axis=1) != rows[:, -1], dtype=np.int64)

    def check(self, axes: Sequence[Axis]) -> None:
        """Refuse a rule that has another number of weights than there are ``axes``."""
        if any(len(row) != len(axes) for row in self.slopes):
            raise InvalidValue(
                f"This rule has {len(self.slopes[0])} weights a line, and there are "
                f"{len(axes)} features."
            )

    def _weights(self, axes: Sequence[Axis]) -> tuple[Integers, Integers]:
        """The lines on ``axes``, in one unit for all, and within 62 bits."""
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


# ------------------------------------------------------------------ fewest errors
# The choice of a classifier by its number of errors: the exponential mechanism on counts.

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
                "Errors are counted beside a target with two public classes or more, each "
                f"once, and {len(self.classes)} were given."
            )

    def step(self, training: Training) -> RowsOf:
        """These rows: their unit, their features in steps, and the place of their class."""
        if self.target is None:
            raise InternalError("Rows without a target were refused.")
        columns = [(axis.steps, axis.reach) for axis in self.axes]
        columns.append((label_steps(self.target, self.classes), len(self.classes)))
        tallies = [KeptTally(steps, -reach, reach) for steps, reach in columns]
        there = [NotSo(StepsAreNull(steps)) for steps, _ in columns]
        return RowsOf(training.plan(tallies, *there))


@dataclass(frozen=True, slots=True)
class FewestErrors:
    """One of so many ``candidates``, the likelier the fewer rows it gets wrong.

    Guarantee: one unit moves each count of errors by its rows at most, so that the choice loses
    pure ``epsilon``. Where units are added or removed all counts move one way, and weights are
    exp(-epsilon * errors / rows); where one is replaced they need twice as much noise.

    Example:
        >>> FewestErrors(Fraction(1, 2), 10).mechanism(Neighbours.ADD_REMOVE, 1).rate
        Fraction(1, 2)
        >>> FewestErrors(Fraction(1, 2), 10).mechanism(Neighbours.REPLACE_ONE, 1).rate
        Fraction(1, 4)
    """

    epsilon: Fraction
    candidates: int

    def mechanism(self, neighbours: Neighbours, max_rows: int) -> Exponential:
        """The exponential mechanism, of the rate that loses epsilon."""
        one_way = neighbours is Neighbours.ADD_REMOVE
        rate = self.epsilon / (max_rows if one_way else TWO * max_rows)
        return Exponential(rate, self.candidates, monotone=one_way)

    def event(self, training: Training) -> Event:
        """One selection."""
        return self.mechanism(training.neighbours, training.max_rows).event(_moved(training))

    def chosen(
        self,
        rules: Sequence[LinearRule],
        rows: Labelled,
        training: Training,
        gateway: Gateway,
    ) -> Generator[RowsOf, Any, int]:
        """The place of one of the ``rules``, by one reading; its errors stay secret."""
        table = yield rows.step(training)

        def scores(found: UnitRows) -> Integers:
            missed = [0] * len(rules)
            for block in found.blocks(len(rows.classes)):
                more = [int(rule.missed(block, rows.axes).sum()) for rule in rules]
                missed = [one + other for one, other in zip(missed, more, strict=True)]
            return np.array([-errors for errors in missed])

        mechanism = self.mechanism(training.neighbours, training.max_rows)
        return int(mechanism.release(inside(table, scores), _moved(training), gateway)[0])


def _moved(training: Training) -> Sensitivity:
    rule = Rule("a unit's rows are errors or are not", (f"max_rows={training.max_rows}",))
    return Sensitivity.of(training.max_rows, Norm.LINF, rule)


# ------------------------------------------------------------------ scored
# What a fitted classifier is scored by: its line, and the rows that it is beside.


def scored_rows(model: Any, training: Training) -> Labelled:
    """The rows of ``training`` with a class; one that is not linear is refused.

    Example:
        >>> from tacit.ml.naive_bayes import GaussianNB
        >>> scored_rows(GaussianNB(), None)
        Traceback (most recent call last):
        tacit.errors.InvalidValue: GaussianNB has no score here: linear classifiers have one.
    """
    last = model.model if isinstance(model, Pipeline) else model
    if not hasattr(last, "decision_function") or not is_classifier(last):
        name = type(last).__name__
        raise InvalidValue(f"{name} has no score here: linear classifiers have one.")
    bounds = model.scaler.bounds if isinstance(model, Pipeline) else model.bounds
    axes = Points.of(training.features, bounds).axes
    return Labelled(axes, training.target, tuple(np.asarray(last.classes).tolist()))


def rule_of(model: Any, parameters: Iterable[Parameter]) -> LinearRule:
    """The line of a classifier by its released ``parameters``, in its columns' own units."""
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
