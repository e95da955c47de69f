"""A question in a session: its loss, its preview, and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from tacit.accounting import rho_within
from tacit.core import Answer, BudgetSummary, Loss, Measure, ReleasedColumn, round_loss_up
from tacit.engines import describe_execution
from tacit.errors import InvalidValue
from tacit.frame import FrameQuery
from tacit.ledger import Status, Terms, Units
from tacit.numeric import Number, exact
from tacit.plan import Field, bound, canonical, source_of
from tacit.query import (
    SIZES,
    Advice,
    Expected,
    Quote,
    advice_on,
    check_sizes,
    coverage,
    expected_errors,
)
from tacit.render import cell, html, text
from tacit.session.ask import ask, budget_summary, price_question
from tacit.session.curator import Curator
from tacit.sql import show

PARTS = 10
"""Without a stated amount, a quote is for the cap divided by this number."""


def loss_for(
    terms: Terms,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number = 0,
) -> Loss:
    """Return the loss that an analyst asks for, in the measure of the population's budget.

    Under zCDP an epsilon stands for the rho that converts to it at the budget's delta.
    """
    if (epsilon is None) == (rho is None):
        raise InvalidValue("Give the amount to spend as one of: epsilon=0.2 or rho=0.001.")
    if terms.measure is Measure.ZCDP:
        amount = (
            exact(rho) if rho is not None else _rho(terms.conversion_delta, exact(epsilon or 0))
        )
        return _check_positive(Loss(Measure.ZCDP, amount, exact(delta)))
    if epsilon is None:
        raise InvalidValue(
            f"The budget of {terms.population!r} is counted in epsilon. Ask with epsilon=0.2."
        )
    return _check_positive(Loss(terms.measure, exact(epsilon), exact(delta)))


def tenth(status: Status) -> Loss:
    """Return a tenth of the cap, for a quote without a stated amount."""
    units = Units(status.cap_units.amount // PARTS, status.cap_units.delta // PARTS)
    return units.loss(status.measure)


@lru_cache(maxsize=256)
def _rho(conversion_delta: Fraction, epsilon: Fraction) -> Fraction:
    """Return the rho for an epsilon. The search takes time, so results are cached."""
    if epsilon <= 0:
        return Fraction(0)  # `_check_positive` refuses it
    Units.limit(Loss.pure(epsilon))  # refuses more than a ledger can count, and floats hold
    return rho_within(epsilon, conversion_delta)


def _check_positive(loss: Loss) -> Loss:
    if loss.amount <= 0:
        raise InvalidValue("The amount to spend must be above 0, such as epsilon=0.2.")
    return loss


# ------------------------------------------------------------------ preview
# The preview of a question: its price, the margins of error to expect, and cheaper ways to ask.

SHOWN_PERCENT = "95%"


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """The preview of a question. It is free, and does not depend on the data."""

    quote: Quote
    standing: BudgetSummary
    assume_size: tuple[int, ...] = SIZES
    """Numbers of rows for which margins of error are shown, if they depend on the number."""
    least: bool = False
    """Whether the amount was below the least price of a question, and was raised to it."""

    def __post_init__(self) -> None:
        check_sizes(self.assume_size)

    @property
    def errors(self) -> tuple[Expected, ...]:
        """The margin of error of each column at probability 95%, without computed columns."""
        found = {
            Field(each.name): each for each in expected_errors(self.quote, self.assume_size)
        }
        shown = self.quote.question.post.outputs
        return tuple(
            replace(found[output.expression], name=output.name)
            for output in shown
            if output.expression in found
        )

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Suggestions by which the same question would be answered with less noise."""
        return advice_on(self.quote)

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines below the table."""
        standing, lines = self.standing, []
        fits = f"{standing.more} such questions fit" if standing.more != 1 else "1 such fits"
        spent = f"{round_loss_up(standing.spent)} of {round_loss_up(standing.cap)}"
        lines.append(f"Price: {round_loss_up(standing.cost)}; about {fits}.")
        if self.least:
            lines.append("The amount was raised to the least price of a question.")
        lines.append(f"Spent about {standing.population}: {spent}.")
        if self.quote.survival:
            lines.append(
                "Groups are not public: of "
                + ", ".join(
                    f"{units} {self.quote.population.unit.name}s {_percent(probability)}"
                    for probability, units in self.quote.survival
                )
                + " are shown."
            )
        lines += coverage(self.quote.bound, self.quote.population.unit.name)
        lines += [f"Cheaper: {each}." for each in self.advice]
        lines += [f"It assumes that {each}." for each in self.quote.assumptions]
        return tuple(lines)

    def __repr__(self) -> str:
        return "\n".join((text(self.columns), "", *self.notes))

    def _repr_html_(self) -> str:
        return html(self.columns, self.notes)

    @property
    def columns(self) -> tuple[ReleasedColumn, ...]:
        """The columns of the table that shows the margin of error of each output."""
        names = tuple(each.name for each in self.errors)
        margins = tuple(_margin_text(each) for each in self.errors)
        heading = f"margin of error ({SHOWN_PERCENT})"
        return ReleasedColumn("column", names), ReleasedColumn(heading, margins)


def _margin_text(each: Expected) -> str:
    if each.always is not None:
        return _about(each.always)
    return ", ".join(f"{_about(error)} at {size} rows" for size, error in each.by_size)


def _about(error: Fraction) -> str:
    return cell(error, (Fraction(0), 2 * error))


def _percent(probability: Fraction) -> str:
    return f"{float(100 * probability):.3g}%"


# ------------------------------------------------------------------ question
# A question in a session: its price and margins of error, and its answer.


@dataclass(frozen=True, slots=True, repr=False)
class Question(FrameQuery):
    """A plan and the curator that can answer it. Nothing is read or charged before `ask`."""

    curator: Curator

    def quote(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        assume_size: Sequence[int] = SIZES,
    ) -> Preview:
        """Return the price and the margins of error; this is free and reads no data.

        Without an amount, the quote is for a tenth of the budget. Margins that depend on the
        number of rows in a group are shown for groups of the sizes in ``assume_size``.
        """
        status = self.status()
        named = epsilon is not None or rho is not None
        asked = loss_for(status.terms, epsilon, rho, delta) if named else tenth(status)
        loss = status.terms.apply_least_price(asked)
        quote = price_question(self.curator, self.plan, loss)
        return Preview(
            quote, budget_summary(status, quote, paid=True), tuple(assume_size), loss != asked
        )

    def explain(self) -> str:
        """Explain how the question would be answered, and what would be faster; free."""
        plan = bound(canonical(self.plan).plan, self.curator.catalog).plan
        return describe_execution(plan, self.curator.catalog)

    def ask(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        request: str | None = None,
    ) -> Answer:
        """Answer the question; it is charged before data is read, and free a second time.

        A ``delta`` is needed for groups whose keys are not public. If an answer was lost, the
        same question reports that, and a ``request`` with a new name pays for a new answer.
        """
        loss = self.loss(epsilon=epsilon, rho=rho, delta=delta)
        return ask(self.curator, self.plan, loss, request)

    def loss(
        self, *, epsilon: Number | None = None, rho: Number | None = None, delta: Number = 0
    ) -> Loss:
        """Return the loss to charge, in the measure of the population's budget.

        An amount below the least price of a question is raised to it.
        """
        terms = self.curator.terms(self._population())
        return terms.apply_least_price(loss_for(terms, epsilon, rho, delta))

    def __repr__(self) -> str:
        return show(self.plan, self.curator.catalog)

    def status(self) -> Status:
        """Return the status of the budget of the population that the question is about."""
        return self.curator.home.ledger.status(self._population(), self.curator.principal)

    def _population(self) -> str:
        catalog = self.curator.catalog
        return catalog.dataset(source_of(self.plan.source, catalog).dataset).population
