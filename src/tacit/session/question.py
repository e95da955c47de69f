"""A question in a session: its loss, its preview, and its answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, log10

from tacit.accounting import rho_within, show_loss
from tacit.core import Answer, BudgetSummary, Loss, Measure, ReleasedColumn
from tacit.engines import describe_execution
from tacit.errors import InvalidValue
from tacit.frame import FrameQuery
from tacit.ledger import Status, Terms, Units
from tacit.numeric import Number, exact, plain
from tacit.plan import (
    Field,
    NamedAggregate,
    Reading,
    TotalReading,
    bound,
    canonical,
    every,
    source_of,
)
from tacit.plan.expression import WindowValue
from tacit.query import (
    SIZES,
    Advice,
    Expected,
    Quote,
    advice_on,
    check_sizes,
    coverage,
    expected_errors,
    worst_error,
)
from tacit.render import cell, html, spell, text
from tacit.session.ask import (
    ask,
    budget_summary,
    is_stored,
    price_question,
    refuse_long_delay,
    reprice_question,
    request_for,
)
from tacit.session.curator import Curator
from tacit.sql import aggregate_text, show

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
        raise InvalidValue(
            "Give the amount to spend as one of: epsilon=0.2, rho=0.001 or within=25."
        )
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


# ------------------------------------------------------------------ wanted error
# People know the error that they can accept. The least loss that reaches it follows from public
# facts: the margin of error falls as the loss grows, so that a search finds it.

DIGITS = 3
"""Significant digits of a loss that is searched; it is at most 1% above the least one."""

SMALLEST = -15
"""The search starts at 10 to this power."""

LARGEST = 10**18
"""The largest error that can be wanted."""


@dataclass(frozen=True, slots=True)
class WantedError:
    """The margin of error that an analyst can accept: an amount, or a share of a size.

    Example:
        >>> WantedError.of("2%")
        WantedError(amount=Fraction(1, 50), is_share=True)
    """

    amount: Fraction
    is_share: bool = False

    @classmethod
    def of(cls, within: Number) -> "WantedError":
        """Read an amount such as 25, or a share such as "2%"."""
        share = isinstance(within, str) and within.strip().endswith("%")
        if isinstance(within, int) and abs(within) > LARGEST:
            raise InvalidValue(f"The error to stay within must be at most {LARGEST}.")
        amount = exact(within.strip()[:-1]) / 100 if share else exact(within)  # type: ignore[union-attr]
        if amount <= 0:
            raise InvalidValue("The error to stay within must be above 0, such as 25 or 2%.")
        return cls(amount, share)

    def is_reached(self, quote: Quote, sizes: Sequence[int] | None) -> bool:
        """Return whether all margins of error of ``quote`` are within the wanted error.

        The margin of a mean is the worst one for the smallest assumed number of rows.
        """
        readings = quote.bound.readings
        if sizes is None and (self.is_share or not all(map(_is_total, readings))):
            raise InvalidValue(
                "Say for which number of rows, as in assume_size=[1000] or --assume-size 1000: "
                "a percentage is of this number, and the error of a mean depends on it."
            )
        if self.is_share and not all(map(_counts, readings)):
            raise InvalidValue(
                "A share is a share of a number of rows, so that it is for counts only. For "
                "sums and means, give an amount, such as within=25."
            )
        size = min(sizes or (1,))
        most = self.amount * size if self.is_share else self.amount
        errors = [worst_error(quote, number, size) for number in range(len(readings))]
        post = quote.question.post
        shown = [output.expression for output in post.plain_outputs]
        if (
            None in errors
            or len(shown) < len(post.outputs)
            or not all(isinstance(each, Field) for each in shown)
        ):
            raise InvalidValue(
                "The error of this question depends on the data, so that it cannot be asked by "
                "the error wanted: only plain columns of COUNT, SUM and AVG can. Give an "
                "amount, such as epsilon=0.2."
            )
        return all(error is not None and error <= most for error in errors)


def _is_total(reading: Reading) -> bool:
    return isinstance(reading, TotalReading)


def _counts(reading: Reading) -> bool:
    return isinstance(reading, TotalReading) and reading.step == 1 and not reading.rounding


def least_loss(
    wanted: WantedError,
    price_at: Callable[[Loss], Quote],
    most: Loss,
    sizes: Sequence[int] | None,
) -> Loss:
    """Return the least loss, of three digits, at which ``wanted`` is reached.

    ``most`` is the largest loss that may be asked for. If an interval is open because limits
    cut rows, or if the rows that are missing move it by more, no loss reaches the error.

    Guarantee: the result is a function of public facts; no data is read.
    """
    quote = price_at(most)
    if any(not (slack.low and slack.high) for slack in quote.bound.slacks):
        said = " ".join(coverage(quote.bound, quote.population.unit.name))
        raise InvalidValue(
            f"No privacy loss gives a known error for this question. {said} To ask without a "
            "known error, give an amount, such as epsilon=0.2."
        )
    if not wanted.is_reached(quote, sizes):
        margins = [each.always for each in expected_errors(quote) if each.always is not None]
        found = f" The margin of error would be {_about(max(margins))}." if margins else ""
        raise InvalidValue(
            f"This error cannot be reached, even with the whole budget.{found} Ask for fewer "
            "groups or accept a larger error."
        )
    units = 9 * 10 ** (DIGITS - 1)
    low, high = SMALLEST * units, ceil(log10(float(most.amount)) + 1) * units
    while high - low > 1:
        middle = (low + high) // 2
        loss = replace(most, amount=min(_amount(middle), most.amount))
        if wanted.is_reached(price_at(loss), sizes):
            high = middle
        else:
            low = middle
    return replace(most, amount=min(_amount(high), most.amount))


def _amount(place: int) -> Fraction:
    """Return the number of three digits at this place, counted from 1.00.

    Example:
        >>> [str(_amount(place)) for place in (0, 1, 900, -900)]
        ['1', '101/100', '10', '1/10']
    """
    first = 10 ** (DIGITS - 1)
    power, digits = divmod(place, 9 * first)
    scale = Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)
    return Fraction(first + digits, first) * scale


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
    others: tuple[Quote, ...] = ()
    """Quotes for other losses, for the curve of error against loss."""
    wanted: str = ""
    """The margin of error for which the loss was searched, as text; empty without one."""
    free: bool = False
    """Whether a stored answer serves the question, so that asking costs nothing."""

    def __post_init__(self) -> None:
        check_sizes(self.assume_size)

    @property
    def errors(self) -> tuple[Expected, ...]:
        """The margin of error of each column at probability 95%.

        A column that is computed after the release is left out, and the aggregates that it is
        computed from are listed in its place, as they are written in SQL.
        """
        return tuple(error for _, error in shown_errors(self.quote, self.assume_size))

    @property
    def curve(self) -> tuple[tuple[Loss, Fraction], ...]:
        """Losses from small to large, each with the margin of error of the first column.

        It is empty if that margin depends on the number of rows.
        """
        found = []
        for quote in (*self.others, self.quote):
            [first, *_] = expected_errors(quote)
            if first.always is None:
                return ()
            found.append((quote.loss, first.always))
        return tuple(sorted(found, key=lambda pair: pair[0].amount))

    def _price(self, loss: Loss) -> str:
        """Return a loss as text, in the unit that was typed first."""
        standing = self.standing
        delta = standing.promised.delta - standing.cap.delta
        return show_loss(loss, delta, rho_first=standing.rho_first)

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Suggestions by which the same question would be answered with less noise."""
        return advice_on(self.quote)

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines below the table."""
        standing, lines = self.standing, []
        fits = f"{standing.more} such questions fit" if standing.more != 1 else "1 such fits"
        lines.append(f"Price: {standing.price}; about {fits}.")
        if self.quote.time is not None:
            lines.append(self.quote.time.sentence)
        if self.free:
            lines.append("An answer that is at least as exact is stored: asking costs nothing.")
        if self.least:
            lines.append("The amount was raised to the least price of a question.")
        if self.wanted:
            anywhere = "" if self.curve else ", wherever a mean lies between its bounds"
            lines.append(
                f"This is the least loss for a margin of error within {self.wanted}{anywhere}."
            )
        others = [each for each in self.curve if each[0] != self.quote.loss]
        if others:
            points = (f"{_about(error)} for {self._price(loss)}" for loss, error in others)
            lines.append(f"Other margins of error: {', '.join(points)}.")
        lines.append(f"Spent about {standing.population}: {standing.progress}.")
        if standing.stopped:
            lines.append(standing.stopped)
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
        if self._has_windows_over_empty_groups:
            lines.append(
                "Every public group is a row of the answer, also one without people: ranks, "
                "and averages and counts with OVER, include it."
            )
        lines += [
            f"{value!r} in WHERE is not a declared key of {column}."
            for column, value in self.quote.bound.unlisted
        ]
        lines += [f"Cheaper: {each}." for each in self.advice]
        lines += [f"It assumes that {each}." for each in self.quote.assumptions]
        return tuple(lines)

    @property
    def _has_windows_over_empty_groups(self) -> bool:
        asked = self.quote.question
        has_windows = any(every(asked.post, WindowValue))
        return has_windows and bool(asked.plan.keys) and not self.quote.survival

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


def shown_errors(
    quote: Quote, assume_size: Sequence[int]
) -> list[tuple[NamedAggregate, Expected]]:
    """Return the aggregates of a question with their margins, under the names of columns."""
    measures = {each.name: each for each in quote.question.plan.measures}
    found = {each.name: each for each in expected_errors(quote, assume_size)}
    names = [
        (output.expression.name, output.name)
        for output in quote.question.post.plain_outputs
        if isinstance(output.expression, Field) and output.expression.name in found
    ]
    plainly, unit = dict(names), quote.bound.plan.source.unit
    names += [
        (name, aggregate_text(measure.aggregate, unit))
        for name, measure in measures.items()
        if name in found and name not in plainly
    ]
    return [(measures[name], replace(found[name], name=shown)) for name, shown in names]


STEPS = (Fraction(1, 4), Fraction(4))
"""The other losses of a curve, as multiples of the loss of a quote."""


def _curve(loss: Loss, terms: Terms, cap: Loss) -> list[Loss]:
    """Return the other losses of the curve of error against loss, up to the cap."""
    found = (replace(loss, amount=loss.amount * step) for step in STEPS)
    allowed = (terms.apply_least_price(each) for each in found if each.amount <= cap.amount)
    return [each for each in dict.fromkeys(allowed) if each != loss]


def _wanted_text(within: Number, assume_size: Sequence[int] | None) -> str:
    """Return the wanted error as text, with the size that is assumed."""
    found = WantedError.of(within)
    if not found.is_share:
        return plain(found.amount)
    return f"{plain(100 * found.amount)}% of {min(assume_size or SIZES)} rows"


def _margin_text(each: Expected) -> str:
    if each.by_table:
        return ", ".join(f"{_about(error)} by {name}" for name, error in each.by_table)
    if each.always is not None:
        return _about(each.always)
    if not each.by_size:
        return "not known for groups of these sizes"
    return ", ".join(f"{_about(error)} at {spell(size, 'row')}" for size, error in each.by_size)


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
        within: Number | None = None,
        assume_size: Sequence[int] | None = None,
    ) -> Preview:
        """Return the price and the margins of error; this is free and reads no data.

        Without an amount, the quote is for a tenth of the budget. With ``within``, it is for
        the least loss that reaches this margin of error. Margins that depend on the number of
        rows in a group are shown for groups of the sizes in ``assume_size``.
        """
        status = self.status()
        named = epsilon is not None or rho is not None
        if within is not None:
            asked = self._loss_within(within, status, epsilon, rho, delta, assume_size)
        else:
            asked = loss_for(status.terms, epsilon, rho, delta) if named else tenth(status)
        loss = status.terms.apply_least_price(asked)
        quote = price_question(self.curator, self.plan, loss)
        refuse_long_delay(self.curator, quote)
        standing = budget_summary(status, quote, paid=True, rho_first=rho is not None)
        return Preview(
            quote,
            standing,
            SIZES if assume_size is None else tuple(assume_size),
            loss != asked,
            tuple(
                reprice_question(self.curator, quote, each)
                for each in _curve(loss, status.terms, status.cap)
            ),
            "" if within is None else _wanted_text(within, assume_size),
            is_stored(self.curator, quote),
        )

    def explain(self) -> str:
        """Explain how the question would be answered, and what would be faster; free."""
        plan = bound(canonical(self.plan).plan, self.curator.catalog).plan
        return describe_execution(plan, self.curator.catalog)

    def ask(  # noqa: PLR0913 - an amount, or an error, and an idempotency key
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        within: Number | None = None,
        assume_size: Sequence[int] | None = None,
        request: str | None = None,
    ) -> Answer:
        """Answer the question; it is charged before data is read, and free a second time.

        Instead of an amount, ``within=25`` asks for the least loss at which the margin of error
        is 25, and ``within="2%", assume_size=[1000]`` for 2% of 1,000 rows. A ``delta`` is
        needed for groups whose keys are not public. If an answer was lost, the same question
        reports that, and a ``request`` with a new name pays for a new answer.
        """
        loss = self.loss(
            epsilon=epsilon, rho=rho, delta=delta, within=within, assume_size=assume_size
        )
        answer = ask(self.curator, self.plan, loss, request)
        return replace(answer, standing=replace(answer.standing, rho_first=rho is not None))

    def loss(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        within: Number | None = None,
        assume_size: Sequence[int] | None = None,
    ) -> Loss:
        """Return the loss to charge, in the measure of the population's budget.

        An amount below the least price of a question is raised to it.
        """
        terms = self.curator.terms(self._population())
        if within is None:
            return terms.apply_least_price(loss_for(terms, epsilon, rho, delta))
        status = self.status()
        found = self._loss_within(within, status, epsilon, rho, delta, assume_size)
        return terms.apply_least_price(found)

    def _loss_within(  # noqa: PLR0913, PLR0917 - the error, and the amounts that exclude it
        self,
        within: Number,
        status: Status,
        epsilon: Number | None,
        rho: Number | None,
        delta: Number,
        assume_size: Sequence[int] | None,
    ) -> Loss:
        """Return the least loss at which the margin of error is ``within``."""
        if epsilon is not None or rho is not None:
            raise InvalidValue("Give one of: epsilon, rho or within.")
        if assume_size is not None:
            check_sizes(assume_size)
        most = Loss(status.measure, status.cap.amount, exact(delta))

        priced = price_question(self.curator, self.plan, most)

        def price_at(loss: Loss) -> Quote:
            return reprice_question(self.curator, priced, loss)

        wanted = WantedError.of(within)
        least = least_loss(wanted, price_at, most, assume_size)
        return self._stored_loss(wanted, price_at, least, assume_size) or least

    def _stored_loss(
        self,
        wanted: WantedError,
        price_at: Callable[[Loss], Quote],
        least: Loss,
        sizes: Sequence[int] | None,
    ) -> Loss | None:
        """Return the loss of the earliest stored answer that reaches ``wanted``, if any.

        The search for the least loss ends up to 1% above it, and a stored answer may lie
        between the two.
        """
        curator = self.curator
        question = request_for(price_at(least), curator.catalog, curator.principal)
        for offer in curator.home.ledger.find_offers(question):
            if replace(least, amount=offer.loss.amount) == offer.loss and wanted.is_reached(
                price_at(offer.loss), sizes
            ):
                return offer.loss
        return None

    def __repr__(self) -> str:
        return show(self.plan, self.curator.catalog)

    def status(self) -> Status:
        """Return the status of the budget of the population that the question is about."""
        return self.curator.home.ledger.status(self._population(), self.curator.principal)

    def _population(self) -> str:
        catalog = self.curator.catalog
        return catalog.dataset(source_of(self.plan.source, catalog).dataset).population
