"""Releases: noisy tables with intervals, their guarantee, and the state of the budget.

A `Release` can be published. An `Answer` is a release with the summary of the budget, for the
analyst who asked. `Parameter` holds the parameters of a fitted model in a release.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from itertools import product
from math import isfinite, prod
from typing import Any, Self

from tacit.core.domain import Key
from tacit.core.event import Numerics
from tacit.core.loss import Loss, Measure, amount_text, loss_text
from tacit.core.privacy_unit import Population
from tacit.errors import InvalidValue, UnknownName
from tacit.extras import load
from tacit.numeric import Number, exact
from tacit.render import chart, fields, html, text

_NAMES = {
    Measure.PURE: "differential privacy",
    Measure.APPROXIMATE: "approximate differential privacy",
    Measure.ZCDP: "zero-concentrated differential privacy",
}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The privacy guarantee of a release, which is printed as a sentence.

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
    time: Loss | None = None
    """The part of the loss that paid for the time at which the answer left a server."""

    @property
    def noise_loss(self) -> Loss:
        """The part of the loss that paid for the noise of the released values."""
        if self.time is None:
            return self.loss
        amount, delta = self.time.amount, self.time.delta
        return Loss(self.loss.measure, self.loss.amount - amount, self.loss.delta - delta)

    def __str__(self) -> str:
        claim = (
            f"By itself, this release about {self.population.name} satisfies "
            f"{_NAMES[self.loss.measure]} with {self.loss}\nfor {self.population.unit}."
        )
        if self.time is not None:
            claim += (
                "\nThis also holds for anyone who sees when the answer arrives: of the loss, "
                f"{self.time} paid for the time at which it left."
            )
        assumed = self.assumptions
        if self.numerics is Numerics.IDEALISED:
            assumed = (
                *assumed,
                "noise computed with rounded real numbers has the law of exact ones",
            )
        return f"{claim}\nIt assumes that {'; that '.join(assumed)}." if assumed else claim


# ------------------------------------------------------------------ dates


@dataclass(frozen=True, slots=True)
class DatedEpoch:
    """The epoch of a table, and the day on which owners declared it.

    ``since`` is None if no owner has declared the epoch in a ledger.
    """

    table: str
    label: str
    since: date | None = None


@dataclass(frozen=True, slots=True)
class ReleaseDates:
    """The day on which a release was charged, and the epochs of the tables that it read.

    All days are UTC. They come from the entries of the ledger, which are written before any
    data is read, so that they say nothing about the data. A repeated answer keeps its dates.

    Example:
        >>> one = DatedEpoch("people", "2026", date(2026, 1, 5))
        >>> two = DatedEpoch("visits", "2026-W07", date(2026, 2, 16))
        >>> print(ReleaseDates(date(2026, 2, 17), (one, two)))
        Charged on 2026-02-17. The data is people of epoch '2026' (since 2026-01-05),
        visits of epoch '2026-W07' (since 2026-02-16).
    """

    charged: date | None
    epochs: tuple[DatedEpoch, ...] = ()

    def __str__(self) -> str:
        lines = [] if self.charged is None else [f"Charged on {self.charged}."]
        named = [
            f"{each.table} of epoch {each.label!r}"
            + ("" if each.since is None else f" (since {each.since})")
            for each in self.epochs
        ]
        if named:
            listed = ",\n".join(named)
            lines.append(f"The data is {listed}.")
        return " ".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the dates as text for JSON, year first."""
        epochs = [
            {"table": each.table, "epoch": each.label, "since": _day_text(each.since)}
            for each in self.epochs
        ]
        return {"charged": _day_text(self.charged), "epochs": epochs}

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "ReleaseDates":
        """Return the dates from the values of `to_dict`."""
        epochs = tuple(
            DatedEpoch(str(each["table"]), str(each["epoch"]), _read_day(each["since"]))
            for each in told["epochs"]
        )
        return cls(_read_day(told["charged"]), epochs)


def _day_text(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _read_day(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


# ------------------------------------------------------------------ release

ClosedInterval = tuple[Fraction, Fraction]
"""An interval with both ends."""

Interval = tuple[Fraction | None, Fraction | None]
"""A confidence interval, which contains the exact value at the column's confidence.

An end is None if it is open: rows or numbers that were left out could move the exact value
beyond every number on this side.
"""


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """A named column; each noisy value has an interval at the stated ``confidence``.

    The interval is None if nothing can be stated about a value, such as a quotient whose
    divisor may be 0. Where intervals are open, ``counted`` has the intervals of the values that
    are computed from the rows that count: they cover the noise alone. If the intervals leave
    out rows of a few units, ``all_but`` is the most units that this can be. ``rows`` has, for
    each mean, the least number of rows that it is the mean of.
    """

    name: str
    values: tuple[Fraction | Key | None, ...]
    intervals: tuple[Interval | None, ...] = ()
    confidence: Fraction | None = None
    counted: tuple[Interval | None, ...] = ()
    all_but: int | None = None
    rows: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.confidence is None and self.intervals:
            raise InvalidValue(
                f"Column {self.name!r}: intervals need a confidence, and none was given."
            )
        if self.confidence is not None and len(self.intervals) != len(self.values):
            raise InvalidValue(
                f"Column {self.name!r} has a confidence, so it needs one interval (or None) "
                f"for each of its {len(self.values)} values, but {len(self.intervals)} were "
                "given."
            )
        if self.counted and len(self.counted) != len(self.values):
            raise InvalidValue(
                f"Column {self.name!r} has {len(self.values)} values and {len(self.counted)} "
                "intervals of rows that count. Give one for each value, or none."
            )


def _round_value(value: Fraction | Key | None, step: Fraction) -> Fraction | Key | None:
    return round(value / step) * step if isinstance(value, int | Fraction) else value


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A table that may be published: all values are noisy, or were public before.

    The receipt is the hash of the charge that paid for the release. A release is printed as a
    table with intervals next to the values, and with the guarantee as a sentence. ``coverage``
    says in sentences what the intervals cover, and why some are open. ``dates`` is None for a
    release that an earlier version of Tacit stored.
    """

    columns: tuple[ReleasedColumn, ...]
    guarantee: Guarantee
    receipt: bytes
    coverage: tuple[str, ...] = field(default=(), kw_only=True)
    dates: ReleaseDates | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if len({len(column.values) for column in self.columns}) > 1:
            raise InvalidValue("The columns of a release must have the same length.")
        if len({column.name for column in self.columns}) != len(self.columns):
            raise InvalidValue("The columns of a release must have distinct names.")

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def __getitem__(self, name: str) -> ReleasedColumn:
        for column in self.columns:
            if column.name == name:
                return column
        known = ", ".join(column.name for column in self.columns)
        raise UnknownName(f"There is no column {name!r}; the columns are: {known}.")

    def round_to(self, step: Number) -> Self:
        """Return a release whose noisy values are rounded to multiples of ``step``.

        The intervals stay as they are: they hold the exact value, and not the rounded one. This
        is post-processing, so that it costs nothing.
        """
        size = exact(step)
        if size <= 0:
            raise InvalidValue("Round to multiples of a number above 0, such as 5.")
        columns = []
        for column in self.columns:
            values = tuple(_round_value(each, size) for each in column.values)
            noisy = column.confidence is not None
            columns.append(replace(column, values=values) if noisy else column)
        return replace(self, columns=tuple(columns))

    def map(
        self, name: str, change: Callable[[Fraction | Key | None], Fraction | Key | None]
    ) -> "Release":
        """Return a release in which the values of one column are changed, without intervals.

        Guarantee: this costs nothing. A result that is computed only from a release satisfies
        the same guarantee.
        Reference: Dwork, Roth 2014, proposition 2.1 (post-processing).
        """
        changed = ReleasedColumn(name, tuple(change(value) for value in self[name].values))
        columns = tuple(changed if column.name == name else column for column in self.columns)
        return replace(self, columns=columns)

    # ---------------------------------------------------------- display

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts that are shown below the table."""
        return (*_paragraph(self.coverage), *self._dated, str(self.guarantee))

    @property
    def _dated(self) -> tuple[str, ...]:
        """The dates as a text, in a tuple that is empty if there are none."""
        said = "" if self.dates is None else str(self.dates)
        return (said,) if said else ()

    def __repr__(self) -> str:
        return "\n\n".join((text(self.columns), *self.notes))

    def _repr_html_(self) -> str:
        """Return HTML for a notebook, in which all keys are escaped."""
        return html(self.columns, self.notes)

    def chart(self, measure: str | None = None) -> dict[str, Any]:
        """Return a Vega-Lite chart of ``measure``, by default of the first noisy column."""
        noisy = [column for column in self.columns if column.confidence is not None]
        if measure is None and not noisy:
            raise InvalidValue("No column has intervals; name the column to draw.")
        drawn = noisy[0] if measure is None else self[measure]
        if any(isinstance(value, str) for value in drawn.values):
            raise InvalidValue(
                f"{drawn.name!r} holds text, and a chart needs numbers. Name another column."
            )
        labels = [c for c in self.columns if c.confidence is None and c is not drawn]
        return chart(labels, drawn)

    # ---------------------------------------------------------- conversion

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists for JSON, with the guarantee, the dates and the receipt."""
        confidences = {
            column.name: float(column.confidence)
            for column in self.columns
            if column.confidence is not None
        }
        return {
            "columns": fields(self.columns),
            "confidence": confidences,
            "coverage": list(self.coverage),
            "dates": None if self.dates is None else self.dates.to_dict(),
            "guarantee": str(self.guarantee),
            "receipt": self.receipt.hex(),
        }

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame, in which the ends of intervals are separate columns."""
        return load("pandas", extra="pandas").DataFrame(fields(self.columns))

    def to_polars(self) -> Any:
        """Return a Polars DataFrame, in which the ends of intervals are separate columns."""
        return load("polars", extra="polars").DataFrame(fields(self.columns))

    def to_arrow(self) -> Any:
        """Return an Arrow table, in which the ends of intervals are separate columns."""
        return load("pyarrow", extra="arrow").table(fields(self.columns))


def _paragraph(sentences: tuple[str, ...]) -> tuple[str, ...]:
    return (" ".join(sentences),) if sentences else ()


# ------------------------------------------------------------------ summary of the budget


@dataclass(frozen=True, slots=True)
class BudgetSummary:
    """The cost of an answer, and the state of its budget; all of it is public.

    ``total`` is the (epsilon, delta) of all releases so far, ``promised`` is that of the whole
    budget, and ``more`` is the number of questions of the same price that still fit.

    Example:
        >>> half, whole = Loss.zcdp("0.05"), Loss.zcdp("0.1")
        >>> totals = Loss.approximate("1.5", "1e-6"), Loss.approximate(2, "1e-6")
        >>> known = BudgetSummary("patients", half, half, whole, *totals, more=1)
        >>> print(replace(known, epsilon=Fraction(3, 2)))
        This answer cost epsilon 1.5 (rho 0.05). Spent about patients so far:
        epsilon 1.5 of at most epsilon 2, delta 0.000001 (rho 0.05 of 0.1).
        About 1 more question like this fits.
    """

    population: str
    cost: Loss
    spent: Loss
    cap: Loss
    total: Loss
    promised: Loss
    more: int
    epsilon: Fraction | None = field(default=None, compare=False)
    """The epsilon of the cost at the delta of the budget, if the cost is a rho."""
    rho_first: bool = field(default=False, compare=False)
    """Whether the analyst typed a rho, so that amounts are printed in rho first."""
    stopped: str = field(default="", compare=False)
    """Why nothing more is charged at present, as a sentence; empty if questions are charged."""

    def __str__(self) -> str:
        cost = f"cost {self.price}" if self.cost.amount else "was paid for before"
        questions = "question like this fits" if self.more == 1 else "questions like this fit"
        return (
            f"This answer {cost}. Spent about {self.population} so far:\n"
            f"{self.progress}.\n"
            f"About {self.more} more {questions}."
            + (f"\n{self.stopped}" if self.stopped else "")
        )

    @property
    def price(self) -> str:
        """The cost as text, in the unit that the analyst typed first."""
        return loss_text(self.cost, self.epsilon, rho_first=self.rho_first)

    @property
    def progress(self) -> str:
        """The spent loss and the whole budget as text."""
        losses = (self.spent, self.cap, self.total, self.promised)
        return spent_text(*losses, rho_first=self.rho_first)


def spent_text(
    spent: Loss, cap: Loss, total: Loss, promised: Loss, *, rho_first: bool = False
) -> str:
    """Return what is spent of a budget as text; both are given with their (epsilon, delta).

    Example:
        >>> print(spent_text(*[Loss.pure(1), Loss.pure(3)] * 2))
        epsilon 1 of at most epsilon 3
    """
    if cap.measure is not Measure.ZCDP:
        return f"epsilon {amount_text(spent.amount)} of at most {loss_text(cap)}"
    totals = f"epsilon {amount_text(total.amount)} of at most {loss_text(promised)}"
    rhos = f"rho {amount_text(spent.amount)} of {amount_text(cap.amount)}"
    return f"{rhos} ({totals})" if rho_first else f"{totals} ({rhos})"


# ------------------------------------------------------------------ answer


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Release):
    """A release with the summary of the budget, for the analyst who asked.

    The ledger stores the release under ``release_key``.
    """

    standing: BudgetSummary
    release_key: bytes = b""
    certifier: Callable[["Answer"], Any] | None = field(
        default=None, kw_only=True, compare=False
    )
    """The function of a session or a server that writes the certificate of an answer."""

    def certificate(self) -> Any:
        """Return the signed certificate of this answer, which can be verified offline.

        It has ``text`` (JSON), ``page`` (HTML) and ``save(file)``. This is free.
        """
        if self.certifier is None:
            raise InvalidValue(
                "This answer has no certificate, because no ledger was charged for it. Ask a "
                "question about data in a session."
            )
        return self.certifier(self)

    @classmethod
    def of(
        cls,
        release: Release,
        standing: BudgetSummary,
        release_key: bytes = b"",
        certifier: Callable[["Answer"], Any] | None = None,
    ) -> "Answer":
        """Return ``release`` together with the summary of the budget."""
        columns, guarantee, receipt = release.columns, release.guarantee, release.receipt
        return cls(
            columns,
            guarantee,
            receipt,
            standing,
            release_key,
            coverage=release.coverage,
            dates=release.dates,
            certifier=certifier,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts that are shown below the table."""
        said = (str(self.guarantee), str(self.standing))
        return (*_paragraph(self.coverage), *self._dated, *said)


# ------------------------------------------------------------------ parameters of models

NAME, PLACE, VALUE = "parameter", "place", "value"
"""The columns of a release that holds parameters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a fitted model: public numbers with a name and a shape, row by row.

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
                f"{self.name!r} has {len(self.values)} numbers, but its shape {self.shape} "
                f"needs {prod(self.shape)}."
            )

    @classmethod
    def of(cls, name: str, numbers: Any) -> "Parameter":
        """Return a parameter from one number, or from nested sequences of equal lengths."""
        shape: list[int] = []
        level, values = numbers, [numbers]
        while isinstance(level, Sequence):
            shape.append(len(level))
            values = [part for each in values for part in each]
            level = level[0] if len(level) else None
        return cls(name, tuple(shape), tuple(map(_number, values)))

    @property
    def nested(self) -> Any:
        """The numbers as nested lists of integers and floats."""
        flat: list[Any] = [v if isinstance(v, int) else float(v) for v in self.values]
        for size in reversed(self.shape[1:]):
            flat = [flat[at : at + size] for at in range(0, len(flat), size)]
        return flat if self.shape else flat[0]


def columns_of(parameters: Iterable[Parameter]) -> tuple[ReleasedColumn, ...]:
    """Return the columns of a release with ``parameters``, one row for each number."""
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
    """Return the parameters of ``release``.

    Guarantee: this is the inverse of `columns_of`, except for parameters without numbers.
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
        raise InvalidValue("A parameter must be a finite number.")
    return Fraction(value)
