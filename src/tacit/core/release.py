"""What may be published: a loss, for whom, and under which assumptions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import isfinite, prod
from typing import Any

from tacit.core.domain import Key
from tacit.core.event import Numerics
from tacit.core.loss import Loss, Measure
from tacit.core.privacy_unit import Population
from tacit.errors import InvalidValue, UnknownName
from tacit.extras import load
from tacit.numeric import ceil_to, plain
from tacit.render import chart, fields, html, text

_NAMES = {
    Measure.PURE: "differential privacy",
    Measure.APPROXIMATE: "approximate differential privacy",
    Measure.ZCDP: "zero-concentrated differential privacy",
}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A sentence that can be published, as a value.

    Example:
        >>> from tacit.core.privacy_unit import PrivacyUnit
        >>> patients = Population("patients", PrivacyUnit("person"))
        >>> print(Guarantee(patients, Loss.pure(1), ("visits.patient names the person",)))
        By itself, this release about patients satisfies differential privacy with ε = 1
        for adding or removing one person, with all their rows.
        It assumes that visits.patient names the person.
    """

    population: Population
    loss: Loss
    assumptions: tuple[str, ...] = ()
    numerics: Numerics = Numerics.EXACT

    def __str__(self) -> str:
        claim = (
            f"By itself, this release about {self.population.name} satisfies "
            f"{_NAMES[self.loss.measure]} with {self.loss}\nfor {self.population.unit}."
        )
        assumed = self.assumptions
        if self.numerics is Numerics.IDEALISED:
            assumed = (
                *assumed,
                "noise computed with rounded real numbers has the law of exact ones",
            )
        return f"{claim}\nIt assumes that {'; that '.join(assumed)}." if assumed else claim


# ------------------------------------------------------------------ release
# What leaves: noisy values with their intervals, what they cost, and the receipt.

Interval = tuple[Fraction, Fraction]
"""A range that holds the exact value with the column's confidence."""


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """Values under a name; noisy ones have an interval each, at the ``confidence`` stated.

    Where nothing can be said about a value, such as a quotient by what may be 0, its interval
    is None.
    """

    name: str
    values: tuple[Fraction | Key | None, ...]
    intervals: tuple[Interval | None, ...] = ()
    confidence: Fraction | None = None

    def __post_init__(self) -> None:
        if self.confidence is None and self.intervals:
            raise InvalidValue(
                f"Column {self.name!r}: intervals and their confidence come together."
            )
        if self.confidence is not None and len(self.intervals) != len(self.values):
            raise InvalidValue(
                f"Column {self.name!r}: each of its values has an interval, or none has."
            )


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A table that may be published, printed and kept.

    Nothing in it is exact but what was public before.

    The receipt is the hash of the charge that paid for it. Printed, it is a table with the
    intervals beside the values, and the guarantee as a sentence.
    """

    columns: tuple[ReleasedColumn, ...]
    guarantee: Guarantee
    receipt: bytes

    def __post_init__(self) -> None:
        if len({len(column.values) for column in self.columns}) > 1:
            raise InvalidValue("The columns of a release are equally long.")
        if len({column.name for column in self.columns}) != len(self.columns):
            raise InvalidValue("The columns of a release have distinct names.")

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def __getitem__(self, name: str) -> ReleasedColumn:
        for column in self.columns:
            if column.name == name:
                return column
        known = ", ".join(column.name for column in self.columns)
        raise UnknownName(f"There is no column {name!r}; there are {known}.")

    def map(
        self, name: str, change: Callable[[Fraction | Key | None], Fraction | Key | None]
    ) -> "Release":
        """This release with each value of one column changed, and its intervals dropped.

        Guarantee: free. What is computed from a release alone satisfies the same guarantee.
        Reference: Dwork, Roth 2014, proposition 2.1 (post-processing).
        """
        changed = ReleasedColumn(name, tuple(change(value) for value in self[name].values))
        columns = tuple(changed if column.name == name else column for column in self.columns)
        return replace(self, columns=columns)

    # ---------------------------------------------------------- how it is shown

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands below the table wherever it is shown."""
        return (str(self.guarantee),)

    def __repr__(self) -> str:
        return "\n\n".join((text(self.columns), *self.notes))

    def _repr_html_(self) -> str:
        """The same for a notebook; whatever stands in a key is text there."""
        return html(self.columns, self.notes)

    def chart(self, measure: str | None = None) -> dict[str, Any]:
        """A Vega-Lite chart of ``measure``, or of the first column that has intervals."""
        noisy = [column for column in self.columns if column.confidence is not None]
        if measure is None and not noisy:
            raise InvalidValue("No column has intervals; name the one to draw.")
        drawn = noisy[0] if measure is None else self[measure]
        if any(isinstance(value, str) for value in drawn.values):
            raise InvalidValue(f"{drawn.name!r} holds text; a chart draws numbers.")
        labels = [c for c in self.columns if c.confidence is None and c is not drawn]
        return chart(labels, drawn)

    # ---------------------------------------------------------- what it becomes

    def to_dict(self) -> dict[str, Any]:
        """Plain lists for JSON, with the guarantee, the confidence and the receipt."""
        confidences = {
            column.name: float(column.confidence)
            for column in self.columns
            if column.confidence is not None
        }
        return {
            "columns": fields(self.columns),
            "confidence": confidences,
            "guarantee": str(self.guarantee),
            "receipt": self.receipt.hex(),
        }

    def to_pandas(self) -> Any:
        """A pandas DataFrame; the ends of intervals are columns of their own."""
        return load("pandas", extra="pandas").DataFrame(fields(self.columns))

    def to_polars(self) -> Any:
        """A Polars DataFrame; the ends of intervals are columns of their own."""
        return load("polars", extra="polars").DataFrame(fields(self.columns))

    def to_arrow(self) -> Any:
        """An Arrow table; the ends of intervals are columns of their own."""
        return load("pyarrow", extra="arrow").table(fields(self.columns))


# ------------------------------------------------------------------ standing
# Where a budget stands after an answer: public facts, rounded only toward more loss.

SHOWN = Fraction(1, 10**6)
"""Amounts are shown to this, rounded up; the ledger holds them to 10^-12."""


@dataclass(frozen=True, slots=True)
class BudgetSummary:
    """What an answer cost, and what is spent of the budget that it belongs to.

    ``total`` is the (epsilon, delta) of all that was released so far, ``promised`` that of the
    cap, and ``more`` says how many questions of the same price still fit.

    Example:
        >>> half, whole = Loss.zcdp("0.05"), Loss.zcdp("0.1")
        >>> totals = Loss.approximate("1.5", "1e-6"), Loss.approximate(2, "1e-6")
        >>> print(BudgetSummary("patients", half, half, whole, *totals, more=1))
        This answer cost ρ = 0.05. Spent about patients: ρ = 0.05 of 0.1,
        which is ε = 1.5, δ = 0.000001 so far, and at most ε = 2, δ = 0.000001.
        About 1 more question like this fits.
    """

    population: str
    cost: Loss
    spent: Loss
    cap: Loss
    total: Loss
    promised: Loss
    more: int

    def __str__(self) -> str:
        cost = f"cost {rounded(self.cost)}" if self.cost.amount else "was paid for before"
        questions = "question like this fits" if self.more == 1 else "questions like this fit"
        return (
            f"This answer {cost}. Spent about {self.population}: {rounded(self.spent)} of "
            f"{plain(ceil_to(self.cap.amount, SHOWN))},\n"
            f"which is {rounded(self.total)} so far, and at most {rounded(self.promised)}.\n"
            f"About {self.more} more {questions}."
        )


def rounded(loss: Loss) -> Loss:
    """``loss`` with its amount to six digits after the point, rounded up."""
    return Loss(loss.measure, ceil_to(loss.amount, SHOWN), loss.delta)


# ------------------------------------------------------------------ answer
# What whoever asked receives: a release, and where the budget stands after it.


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Release):
    """A release as the asker sees it; what may be published of it is the release.

    The ledger keeps it under ``release_key``.
    """

    standing: BudgetSummary
    release_key: bytes = b""

    @classmethod
    def of(
        cls, release: Release, standing: BudgetSummary, release_key: bytes = b""
    ) -> "Answer":
        """``release`` beside what it left of the budget."""
        columns, guarantee, receipt = release.columns, release.guarantee, release.receipt
        return cls(columns, guarantee, receipt, standing, release_key)

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands below the table wherever it is shown."""
        return (str(self.guarantee), str(self.standing))


# ------------------------------------------------------------------ parameter
# What a fitted model is made of: named numbers with a shape, and how a release holds them.

NAME, PLACE, VALUE = "parameter", "place", "value"
"""The columns of a release that holds parameters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """Public numbers under the name that the model keeps them by, row by row.

    Example:
        >>> Parameter.of("coef_", [[0.5, 2], [0, 1]])
        Parameter(name='coef_', shape=(2, 2), values=(Fraction(1, 2), 2, 0, 1))
        >>> Parameter.of("intercept_", 0.25).nested
        0.25
    """

    name: str
    shape: tuple[int, ...]
    values: tuple[Fraction | int, ...]

    def __post_init__(self) -> None:
        if len(self.values) != prod(self.shape):
            raise InvalidValue(
                f"{self.name!r} has {len(self.values)} numbers, and its shape {self.shape} "
                f"holds {prod(self.shape)}."
            )

    @classmethod
    def of(cls, name: str, numbers: Any) -> "Parameter":
        """The parameter that holds ``numbers``: one, or nested sequences of equal lengths."""
        shape: list[int] = []
        level, values = numbers, [numbers]
        while isinstance(level, Sequence):
            shape.append(len(level))
            values = [part for each in values for part in each]
            level = level[0] if len(level) else None
        return cls(name, tuple(shape), tuple(map(_number, values)))

    @property
    def nested(self) -> Any:
        """The numbers as they were given: integers, and the nearest floats."""
        flat: list[Any] = [v if isinstance(v, int) else float(v) for v in self.values]
        for size in reversed(self.shape[1:]):
            flat = [flat[at : at + size] for at in range(0, len(flat), size)]
        return flat if self.shape else flat[0]


def columns_of(parameters: Iterable[Parameter]) -> tuple[ReleasedColumn, ...]:
    """The columns of a release that holds ``parameters``, a row for each number."""
    rows = [
        (each.name, ",".join(map(str, place)), value)
        for each in parameters
        for place, value in zip(product(*map(range, each.shape)), each.values, strict=True)
    ]
    names, places, values = zip(*rows, strict=True) if rows else ((), (), ())
    return (
        ReleasedColumn(NAME, names),
        ReleasedColumn(PLACE, places),
        ReleasedColumn(VALUE, values),
    )


def parameters_in(release: Release) -> tuple[Parameter, ...]:
    """The parameters that ``release`` holds.

    Guarantee: those of which `columns_of` made its columns, but for parameters without numbers.
    """
    found: dict[str, list[tuple[tuple[int, ...], Any]]] = {}
    rows = zip(*(release[name].values for name in (NAME, PLACE, VALUE)), strict=True)
    for name, place, value in rows:
        at = tuple(map(int, str(place).split(","))) if place else ()
        found.setdefault(str(name), []).append((at, value))
    return tuple(
        Parameter(name, tuple(1 + end for end in cells[-1][0]), tuple(v for _, v in cells))
        for name, cells in found.items()
    )


def _number(value: Any) -> Fraction | int:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and not isfinite(value):
        raise InvalidValue("A parameter is a finite number.")
    return Fraction(value)
