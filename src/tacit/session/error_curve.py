"""The curve of error against privacy loss: the price of each margin of error.

People know the error that they can accept. A curve shows for about forty losses which margin
of error the first column of an answer would have, with some points marked: the loss that was
asked for, round margins, and answers that are stored and so are free. It also says what the
question costs in shares of the budget, and what an attacker could learn from it.

Everything is computed from public facts: quotes, declarations and the ledger. Margins depend
on the question's shape and the loss alone, so that they are kept for the next curve.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, floor, log10
from typing import Any

from tacit.accounting import epsilon_of_rho, quick_pairs
from tacit.core import Dataset, Loss, Measure
from tacit.errors import InvalidValue
from tacit.ledger import Offer, Status, Units, stopped_text
from tacit.numeric import ceil_to, floor_to, plain
from tacit.plan import (
    CountDistinct,
    CountRows,
    CountUnits,
    CountValues,
    NamedAggregate,
    datasets,
    group_count,
)
from tacit.query import Quote
from tacit.session.ask import refuse_long_delay, reprice_question, request_for
from tacit.session.curator import Curator
from tacit.session.policy_version import policy_of, tables_of
from tacit.session.question import Preview, Question, WantedError, least_loss, shown_errors

A_DECADE = 12
"""Number of points between a loss and ten times as much."""

BELOW, ABOVE = 26, 14
"""Number of points below the asked loss and above it, unless the budget ends before."""

ROUND = (1, 2, 5)
"""First digits of the round margins that are offered."""

USUAL_SIZE = 1000
"""Number of rows for which margins that depend on it are computed, unless one is given."""

MOST_FREE = 10
"""Largest number of stored answers that are marked."""

SHOWN = Fraction(1, 10**6)
"""Step to which an epsilon is rounded up."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A loss, its epsilon at the budget's delta, and the margin of error that it buys.

    ``within`` is the margin for which the loss was searched. A ``free`` point has a stored
    answer; ``own`` says whether the caller was charged for it.
    """

    loss: Loss
    epsilon: Fraction
    margin: Fraction | None
    within: Fraction | None = None
    share: Fraction = Fraction(0)
    free: bool = False
    own: bytes = b""
    """The key of the stored release, if the caller was charged for it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the point as text for JSON."""
        told: dict[str, Any] = {
            "epsilon": plain(self.epsilon),
            "rho": plain(self.loss.amount) if self.loss.measure is Measure.ZCDP else None,
            "delta": plain(self.loss.delta),
            "margin": None if self.margin is None else plain(self.margin),
        }
        return told

    def to_marked(self) -> dict[str, Any]:
        """Return a marked point as text for JSON."""
        return self.to_dict() | {
            "within": None if self.within is None else plain(self.within),
            "share": share_fields(self.share),
            "free": self.free,
            "release_key": self.own.hex() or None,
        }


def share_fields(share: Fraction) -> dict[str, Any]:
    """Return a share of a budget, exactly and as a number."""
    return {"exact": str(share), "value": float(share)}


@dataclass(frozen=True, slots=True)
class ErrorCurve:
    """The price of each margin of error of a question; it is free and reads no data.

    The margins are those of ``column``, in ``unit``. If they depend on the number of rows,
    they hold for groups of ``size`` rows.
    """

    preview: Preview
    column: str
    unit: str
    size: int | None
    asked: CurvePoint
    points: tuple[CurvePoint, ...]
    choices: tuple[CurvePoint, ...]
    stored: tuple[CurvePoint, ...]
    closest: CurvePoint | None
    """The smallest margin that fits the budget and the caller's quotas now."""
    spent: Fraction
    """The share of the budget that is spent."""
    fits: int
    fits_quota: int | None
    """How many such questions fit the caller's quotas; None without a quota."""
    quota_left: Fraction | None
    """The share of the budget that is left in the caller's quotas; None without a quota."""
    odds: tuple[int, int, int]
    """In how many of 100 tries an attacker is right: now, by this question, and by all."""
    stopped: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; amounts are exact texts."""
        preview, now = self.preview, self.spent
        cost = Fraction(0) if preview.free else self.asked.share
        return {
            "population": preview.standing.population,
            "column": self.column,
            "unit": self.unit,
            "size": self.size,
            "free": preview.free,
            "least": preview.least,
            "asked": self.asked.to_marked(),
            "points": [each.to_dict() for each in self.points],
            "choices": [each.to_marked() for each in self.choices],
            "stored": [each.to_marked() for each in self.stored],
            "closest": None if self.closest is None else self.closest.to_marked(),
            "budget": {
                "spent": share_fields(now),
                "cost": share_fields(cost),
                "left": share_fields(max(Fraction(0), 1 - now - cost)),
                "quota_left": None
                if self.quota_left is None
                else share_fields(self.quota_left),
                "fits": self.fits,
                "fits_quota": self.fits_quota,
                "within_budget": preview.free or self.fits > 0,
                "within_quota": preview.free or self.fits_quota != 0,
                "stopped": self.stopped or None,
            },
            "odds": self._odds_fields(),
            "advice": [str(each) for each in preview.advice],
            "notes": list(preview.notes),
        }

    def _odds_fields(self) -> dict[str, Any]:
        now, alone, together = self.odds
        if self.preview.free:
            alone, together = 50, now
        return {
            "guess": 50,
            "now": now,
            "alone": alone,
            "together": together,
            "in_words": f"{alone} in 100",
            "together_in_words": f"{together} in 100",
        }


# ------------------------------------------------------------------ margins of a shape


class Shape:
    """The margins of error of one question under one declaration, by loss."""

    MOST = 400
    """Number of margins that are kept before all are forgotten."""

    def __init__(self) -> None:
        self._margins: dict[Loss, Fraction | None] = {}
        self._least: dict[tuple[Fraction, Loss], Loss | None] = {}

    def margin(self, pricing: "Pricing", loss: Loss) -> Fraction | None:
        """Return the margin at ``loss``; None if the question cannot be asked at it."""
        if loss not in self._margins:
            if len(self._margins) >= self.MOST:
                self._margins.clear()
            self._margins[loss] = pricing.compute_margin(loss)
        return self._margins[loss]

    def least(self, pricing: "Pricing", within: Fraction, most: Loss) -> Loss | None:
        """Return the least loss at which the margin is ``within``; None if there is none."""
        key = within, most
        if key not in self._least:
            if len(self._least) >= self.MOST:
                self._least.clear()
            self._least[key] = pricing.compute_least(within, most)
        return self._least[key]


@lru_cache(maxsize=200)
def _shape(*_key: object) -> Shape:
    """Return the margins that are kept under this key."""
    return Shape()


@dataclass(frozen=True, slots=True)
class Pricing:
    """A priced question, and the margins of its first column at other losses."""

    curator: Curator
    quote: Quote
    sizes: tuple[int, ...] | None
    shape: Shape = field(init=False)

    def __post_init__(self) -> None:
        quote, catalog = self.quote, self.curator.catalog
        tables = tables_of(catalog, quote.datasets)
        outputs = tuple(str(each) for each in quote.question.post.plain_outputs)
        found = _shape(
            quote.key,
            outputs,
            policy_of(quote.population, tables),
            quote.bound.slacks,
            quote.loss.measure,
            self.curator.time,
            self.sizes,
        )
        object.__setattr__(self, "shape", found)

    @property
    def size(self) -> int:
        """The number of rows for which a margin is computed that depends on it."""
        return USUAL_SIZE if self.sizes is None else min(self.sizes)

    def first(self, quote: Quote) -> tuple[NamedAggregate, str, Fraction | None, bool]:
        """Return the first column: its aggregate, name and margin, and if it has one size."""
        [(measure, error), *_] = shown_errors(quote, (self.size,))
        if error.always is not None:
            return measure, error.name, error.always, False
        margins = dict(error.by_size)
        return measure, error.name, margins.get(self.size), True

    def margin(self, loss: Loss) -> Fraction | None:
        """Return the margin at ``loss``, which may be kept from an earlier curve."""
        return self.shape.margin(self, loss)

    def least(self, within: Fraction, most: Loss) -> Loss | None:
        """Return the least loss whose margin is ``within``, if one can be asked for."""
        return self.shape.least(self, within, most)

    def compute_margin(self, loss: Loss) -> Fraction | None:
        """Return the margin at ``loss``; None if the question cannot be asked at it."""
        try:
            quote = reprice_question(self.curator, self.quote, loss)
            refuse_long_delay(self.curator, quote)
        except InvalidValue:
            return None
        return self.first(quote)[2]

    def compute_least(self, within: Fraction, most: Loss) -> Loss | None:
        """Return the least loss whose margin is ``within``, if one can be asked for."""
        price_at = partial(reprice_question, self.curator, self.quote)
        try:
            return least_loss(WantedError(within), price_at, most, self.sizes)
        except InvalidValue:
            return None


# ------------------------------------------------------------------ the curve


def error_curve(
    question: Question, preview: Preview, sizes: Sequence[int] | None, delta: Fraction
) -> ErrorCurve:
    """Return the curve of error against loss around the loss of ``preview``.

    Its points have this ``delta``; if it is 0, they have one only where keys are not public.

    Guarantee: the result is a function of public facts and of the ledger; no data is read.
    """
    curator, quote, status = question.curator, preview.quote, question.status()
    pricing = Pricing(curator, quote, None if sizes is None else tuple(sizes))
    measure, column, margin, sized = pricing.first(quote)
    cost = status.cost(quote.event, quote.price_delta)
    asked = replace(
        _point(status, quote.loss, margin),
        share=_share(cost, status),
        free=preview.free,
        within=None,
    )
    offers = _offers(question, quote)
    stored = tuple(_stored_points(pricing, status, offers))
    needs_delta = group_count(quote.bound.plan) is None
    usual = replace(quote.loss, delta=delta or quote.loss.delta * needs_delta)
    limit = replace(usual, amount=status.cap.amount)
    points = tuple(
        _point(status, loss, found)
        for loss in _losses(usual, status)
        if (found := pricing.margin(loss)) is not None
    )
    spent = status.spent_units
    now = spent.loss(status.measure)
    odds = (now, cost.loss(status.measure), (spent + cost).loss(status.measure))
    quotas = status.quotas_left
    left = min((each.amount for each in quotas), default=None)
    return ErrorCurve(
        preview,
        column,
        margin_unit(quote, measure, curator),
        pricing.size if sized else None,
        asked,
        points,
        tuple(_choices(pricing, status, asked, limit, offers)),
        stored,
        _closest(pricing, status, usual),
        Fraction(spent.amount, status.cap_units.amount),
        _fits((status.cap_units - spent,), cost),
        _fits(quotas, cost) if quotas else None,
        None if left is None else Fraction(max(left, 0), status.cap_units.amount),
        (_of_100(odds[0]), _of_100(odds[1]), _of_100(odds[2])),
        stopped_text(status) or "",
    )


def margin_unit(quote: Quote, measure: NamedAggregate, curator: Curator) -> str:
    """Return the unit of a margin: people, rows, or the name of a column."""
    unit = quote.population.unit.name
    people = "people" if unit == "person" else f"{unit}s"
    match measure.aggregate:
        case CountUnits():
            return people
        case CountRows() | CountValues():
            [name, *more] = datasets(quote.question.plan.source)
            table = curator.catalog.table(name)
            single = isinstance(table, Dataset) and table.limits.max_rows == 1
            return people if single and not more else "rows"
        case CountDistinct():
            return "values"
        case other:
            name = getattr(getattr(other, "argument", None), "name", measure.name)
            return str(name).rpartition(".")[2]


def _offers(question: Question, quote: Quote) -> tuple[Offer, ...]:
    """Return the stored answers to the question at any loss with the same delta."""
    curator = question.curator
    asked = request_for(quote, curator.catalog, curator.principal)
    found = curator.home.ledger.find_offers(asked)
    same = {each.loss: each for each in found if each.loss.measure is quote.loss.measure}
    return tuple(same.values())[-MOST_FREE:]


def _stored_points(
    pricing: Pricing, status: Status, offers: Sequence[Offer]
) -> Iterator[CurvePoint]:
    ledger, principal = pricing.curator.home.ledger, pricing.curator.principal
    for offer in offers:
        mine = ledger.was_charged(principal, status.population, offer.release_key)
        margin = pricing.margin(offer.loss)
        yield replace(
            _point(status, offer.loss, margin),
            free=True,
            own=offer.release_key if mine else b"",
        )


def _choices(
    pricing: Pricing, status: Status, asked: CurvePoint, most: Loss, offers: Sequence[Offer]
) -> Iterator[CurvePoint]:
    """Yield four round margins around the asked one, or losses where none can be wanted."""
    if asked.margin is None or asked.margin <= 0:
        return
    found: list[tuple[Fraction | None, Loss]] = [
        (margin, loss)
        for margin in _round_around(asked.margin)
        if (loss := pricing.least(margin, most)) is not None
    ]
    if not found:
        amounts = [_grid_amount(_place(asked.loss.amount) + step) for step in (-9, -4, 4, 9)]
        losses = [replace(most, amount=min(each, most.amount)) for each in amounts]
        found = [(None, each) for each in dict.fromkeys(losses)]
    for within, searched in found:
        loss = status.terms.apply_least_price(searched)
        margin = pricing.margin(loss)
        served = any(
            each.serves(loss) or _is_within(pricing.margin(each.loss), within)
            for each in offers
        )
        yield replace(
            _point(status, loss, margin),
            within=within,
            free=served,
            share=Fraction(0) if served else _share(Units.cost(loss), status),
        )


def _is_within(margin: Fraction | None, within: Fraction | None) -> bool:
    return margin is not None and within is not None and margin <= within


def _round_around(margin: Fraction) -> list[Fraction]:
    """Return four round margins around ``margin``, the smallest first.

    Example:
        >>> [str(each) for each in _round_around(Fraction(23))]
        ['10', '20', '50', '100']
    """
    power = floor(log10(margin))
    made = sorted(
        digit * Fraction(10) ** (power + step) for digit in ROUND for step in (-1, 0, 1, 2)
    )
    above = next(place for place, each in enumerate(made) if each > margin)
    return made[above - 2 : above + 2]


def _closest(pricing: Pricing, status: Status, like: Loss) -> CurvePoint | None:
    """Return the smallest margin that fits what is left of the budget and of each quota."""
    lefts = (status.cap_units - status.spent_units, *status.quotas_left)
    amount = min(each.amount for each in lefts)
    if amount <= 0 or min(each.delta for each in lefts) < Units.cost(like).delta:
        return None
    whole = Units(amount, 0).loss(status.measure).amount
    exponent = floor(log10(whole)) - 2
    loss = replace(like, amount=floor_to(whole, Fraction(10) ** exponent))
    if loss.amount <= 0 or (status.least_amount and loss.amount < status.least.amount):
        return None
    margin = pricing.margin(loss)
    if margin is None:
        return None
    return replace(_point(status, loss, margin), share=_share(Units.cost(loss), status))


def _place(amount: Fraction) -> int:
    return round(log10(amount) * A_DECADE)


def _losses(asked: Loss, status: Status) -> Iterator[Loss]:
    """Yield the losses of a curve, which are the same for all questions of a budget.

    They are at most the cap, and not below the least price.
    """
    middle, least, most = _place(asked.amount), status.least.amount, status.cap.amount
    for place in range(middle - BELOW, middle + ABOVE):
        amount = _grid_amount(place)
        if least <= amount <= most:
            yield replace(asked, amount=amount)


@lru_cache(maxsize=1024)
def _grid_amount(place: int) -> Fraction:
    """Return ten to the power of ``place`` twelfths, with three digits.

    Example:
        >>> [str(_grid_amount(place)) for place in (0, 6, 12, -12)]
        ['1', '79/25', '10', '1/10']
    """
    power, rest = divmod(place, A_DECADE)
    return Fraction(round(100 * 10 ** (rest / A_DECADE)), 100) * Fraction(10) ** power


def _point(status: Status, loss: Loss, margin: Fraction | None) -> CurvePoint:
    return CurvePoint(loss, _epsilon(loss, status.conversion_delta), margin)


@lru_cache(maxsize=8192)
def _epsilon(loss: Loss, delta: Fraction) -> Fraction:
    """Return a loss as an epsilon, rounded up; that of a rho is at the budget's delta."""
    if loss.measure is not Measure.ZCDP:
        return loss.amount
    return ceil_to(epsilon_of_rho(loss.amount, delta), SHOWN)


def _share(cost: Units, status: Status) -> Fraction:
    """Return a cost as a share of the budget: of its rho or its epsilon."""
    return Fraction(cost.amount, status.cap_units.amount)


def _fits(lefts: Sequence[Units], cost: Units) -> int:
    """Return how many such costs fit into all of these rests."""
    return min(
        max(0, have // need)
        for left in lefts
        for have, need in ((left.amount, cost.amount), (left.delta, cost.delta))
        if need
    )


def _of_100(loss: Loss) -> int:
    """Return in how many of 100 tries the best attacker is right, rounded up.

    The attacker knows the data of all others, and tells releases with a person from releases
    without. A guess is right in 50.
    """
    return ceil(100 * quick_pairs(loss))
