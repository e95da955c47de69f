"""A quote of the API as the screen Ask shows it: what an error costs, and all that follows.

`POST /v1/curve` says what each error costs. It is called twice: for the whole curve, which
stays where it is while people choose, and for the error that they want.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from math import exp, floor, log, log10
from typing import Any

from tacit.errors import InvalidValue
from tacit.numeric import ceil_to, exact, floor_to, plain
from tacit.server.console.answers_shown import round_error
from tacit.server.console.api_calls import ApiAnswer
from tacit.server.console.pictures import draw_curve
from tacit.server.console.sign_ins import random_text
from tacit.server.console.templates_of import percent
from tacit.server.console.visit import Visit

Json = Mapping[str, Any]
AMOUNTS = ("rho", "epsilon", "within")
BUSY = (429, 503)
"""Statuses with which the API asks a client to send a request again later."""

PRICES = ("Price:", "Other margins", "Spent about", "Free:")
"""Beginnings of notes about the price, which the screen shows in other places."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question and how close its answer must be: an error, or an amount of loss."""

    sql: str
    error: str = ""
    """The text in the field: a margin of error."""
    amounts: tuple[tuple[str, str], ...] = ()
    """An amount that is wanted instead: rho or epsilon."""
    delta: str = ""
    is_new: bool = False
    """Whether the field must show another error than what was written into it."""

    @classmethod
    def of_query(cls, query: Mapping[str, str]) -> "Wanted":
        """Return what an address of the screen asks for."""
        amounts = tuple((name, query[name]) for name in AMOUNTS[:2] if query.get(name))
        sql, delta = _lines(query.get("sql", "")), query.get("delta", "").strip()
        return cls(sql, query.get("error", "").strip(), amounts[:1], delta, is_new=True)

    @classmethod
    def of_form(cls, form: Mapping[str, str]) -> "Wanted":
        """Return what the form asks for: a choice, if another one was chosen, or its error."""
        sql, delta = _lines(form.get("sql", "")), form.get("delta", "").strip()
        error, choice = form.get("error", "").strip(), form.get("choice", "")
        if not choice or choice == form.get("chosen", ""):
            if form.get("amount") and form.get("quoted") == cls(sql, error, (), delta).digest:
                return cls(sql, error, _amounts(form["amount"]), delta)
            return cls(sql, error, (), delta, is_new=not error)
        name, _, value = choice.partition(":")
        if name == "within":
            return cls(sql, value, (), delta, is_new=True)
        return cls(sql, "", _amounts(choice), delta, is_new=True)

    @property
    def digest(self) -> str:
        """A digest of what is written into the fields, to see whether it has changed."""
        parts = f"{self.sql}\0{self.error}\0{self.delta}"
        return sha256(parts.encode("utf-8", "replace")).hexdigest()[:32]

    @property
    def body(self) -> dict[str, str]:
        """The question for the API, without an amount."""
        return {"sql": self.sql} | ({"delta": self.delta} if self.delta else {})


def _amounts(text: str) -> tuple[tuple[str, str], ...]:
    name, _, value = text.partition(":")
    return ((name, value),) if name in AMOUNTS[:2] and value else ()


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


# ------------------------------------------------------------------ the price


async def price(visit: Visit, wanted: Wanted, key: str = "") -> dict[str, Any]:
    """Return what the screen shows of the price of ``wanted``; it is free.

    ``key`` is the idempotency key that the button sends. Without one, a new one is drawn.
    """
    shown = {
        "wanted": wanted,
        "error_text": wanted.error,
        "unit": "",
        "key": key or random_text(),
    }
    if not wanted.sql.strip():
        return shown | {"state": "empty"}
    whole = await visit.try_api("POST", "/v1/curve", body=wanted.body)
    if whole.status != 200:  # noqa: PLR2004
        return shown | _show_refusal(whole)
    curve = whole.json
    if curve["asked"] is None:
        return shown | {"state": "public", "notes": _notes(curve), "share_query": wanted.body}
    found = await _find(visit, wanted, curve)
    if isinstance(found, ApiAnswer):
        return shown | _show_refusal(found)
    at_error, is_noise = found
    if at_error is None:
        return (
            shown
            | _show_whole(curve)
            | {
                "state": "unreachable",
                "closest": _closest(curve),
                "choices": _choices(curve, None),
            }
        )
    return shown | _show_price(wanted, curve, at_error, is_noise=is_noise)


async def _find(
    visit: Visit, wanted: Wanted, curve: Json
) -> tuple[Json | None, bool] | ApiAnswer:
    """Return the curve at what is wanted, and whether its error is that of the noise alone.

    Where no error holds for the whole answer, since limits may leave something out, the error
    of the noise is found on the curve.
    """
    amounts = dict(wanted.amounts)
    if not amounts and not wanted.error:
        point = _usual(curve)
        if point is None:
            return curve, True
        amounts = {"within": point["within"]} if point["within"] else amount_of(point)
    is_noise = not any(each["within"] for each in curve["choices"])
    if not amounts and not is_noise:
        amounts = {"within": wanted.error}
    refused = _not_a_number()
    if amounts:
        found = await visit.try_api("POST", "/v1/curve", body=wanted.body | amounts)
        if found.status == 200:  # noqa: PLR2004
            return found.json, is_noise
        if found.status != 422 or "within" not in amounts:  # noqa: PLR2004
            return found
        refused = found
    try:
        error = float(exact(wanted.error))
    except (InvalidValue, OverflowError):
        return refused
    loss = loss_on(curve, error)
    if loss is None:
        return (None, False) if error > 0 else refused
    found = await visit.try_api("POST", "/v1/curve", body=wanted.body | loss)
    return (found.json, True) if found.status == 200 else found  # noqa: PLR2004


def _usual(curve: Json) -> Json | None:
    """Return the choice that is shown first: a close error of which several questions fit."""
    known = [each for each in curve["choices"] if each["margin"] is not None]
    known.sort(key=lambda each: _float(each["margin"]))
    budget, left = curve["budget"], 1 - curve["budget"]["spent"]["value"]
    quota = budget["quota_left"]
    most = left if quota is None else min(left, quota["value"])
    fitting = [each for each in known[2:] if each["free"] or 2 * each["share"]["value"] <= most]
    found: list[Json] = fitting or known[-1:]
    return found[0] if found else None


def _not_a_number() -> ApiAnswer:
    text = (
        b'{"error": {"code": "invalid_value", "message": "The error is not a number above 0."'
    )
    return ApiAnswer(422, {}, text + b', "next": "Write how far off the answer may be: 25."}}')


def loss_on(curve: Json, error: float) -> dict[str, str] | None:
    """Return the least loss of ``curve`` whose noise stays within ``error``.

    An answer that is stored comes first, since it is free. Between two points of a curve the
    logarithms of error and loss are close to a line. None is returned if the whole budget is
    not enough.
    """
    stored = [
        each for each in curve["stored"] if each["margin"] and _float(each["margin"]) <= error
    ]
    if stored:
        return amount_of(min(stored, key=lambda each: _float(each["epsilon"])))
    name = "rho" if curve["asked"]["rho"] is not None else "epsilon"
    points = [
        (_float(each["margin"]), _float(each[name]))
        for each in [*curve["points"], curve["asked"]]
        if each["margin"] is not None and _float(each["margin"]) > 0
    ]
    points.sort(key=lambda point: (-point[0], point[1]))
    if error <= 0 or not points or points[-1][0] > error:
        return None
    if points[0][0] <= error:
        return {name: plain(_up(Fraction(points[0][1])))}
    for (above, less), (below, more) in pairwise(points):
        if below <= error <= above:
            part = log(above / error) / log(above / below) if above > below else 1.0
            return {name: plain(_up(Fraction(less * exp(part * log(more / less)))))}
    return None


def _up(amount: Fraction) -> Fraction:
    """Return an amount with three digits, rounded up."""
    return ceil_to(amount, Fraction(10) ** (floor(log10(amount)) - 2))


def amount_of(point: Json) -> dict[str, str]:
    """Return the loss of a point as the API takes it."""
    name = "rho" if point["rho"] is not None else "epsilon"
    delta = {"delta": point["delta"]} if exact(point["delta"]) else {}
    return {name: point[name]} | delta


def _show_refusal(answer: ApiAnswer) -> dict[str, Any]:
    try:
        error = answer.json["error"]
    except (ValueError, LookupError, TypeError):
        error = {"message": "The server failed.", "next": "Nothing was asked or charged."}
    return {"state": "busy" if answer.status in BUSY else "refused", "refusal": error}


# ------------------------------------------------------------------ what is shown


def _show_whole(curve: Json) -> dict[str, Any]:
    return {
        "unit": curve["unit"] or "",
        "column": curve["column"],
        "size": curve["size"],
        "population": curve["population"],
        "notes": _notes(curve),
    }


def _show_price(wanted: Wanted, curve: Json, found: Json, *, is_noise: bool) -> dict[str, Any]:
    asked, budget, odds = found["asked"], found["budget"], found["odds"]
    is_free = found["free"]
    error = wanted.error
    if wanted.is_new and (wanted.amounts or not error):
        error = asked["within"] or (found_margin(found) or "")
    amount = amount_of(asked)
    now = Wanted(wanted.sql, error, (), wanted.delta)
    is_beyond = not (is_free or (budget["within_budget"] and budget["within_quota"]))
    return _show_whole(curve) | {
        "state": "priced",
        "error_text": error,
        "quoted": now.digest,
        "amount": next(f"{name}:{value}" for name, value in amount.items()),
        "loss": amount,
        "share_query": wanted.body | amount,
        "is_free": is_free,
        "is_own": any(each["release_key"] for each in found["stored"] if _same(each, asked)),
        "is_noise": is_noise,
        "is_least": found["least"] and not is_free,
        "margin": "" if asked["margin"] is None else round_error(_float(asked["margin"])),
        "price": "free" if is_free else epsilon_text(asked["epsilon"]),
        "share": percent(asked["share"]["value"]),
        "rho": None if asked["rho"] is None else digits(asked["rho"], 4),
        "odds": odds,
        "spent_share": budget["spent"]["value"],
        "cost_share": budget["cost"]["value"],
        "spent": percent(budget["spent"]["value"]),
        "left": percent(budget["left"]["value"]),
        "fits": _fits(budget),
        "quota_left": None
        if budget["quota_left"] is None
        else percent(budget["quota_left"]["value"]),
        "is_beyond": is_beyond,
        "is_beyond_quota": is_beyond and not budget["within_quota"],
        "stopped": budget["stopped"] if not is_free else None,
        "closest": _closest(found) if is_beyond else None,
        "choices": _choices(curve, asked),
        "cheaper": [] if is_free else _cheaper(curve, asked),
        "advice": found["advice"],
        **_curve(curve, found),
    }


def found_margin(curve: Json) -> str | None:
    """Return the margin at the loss that was asked for, as it is written into the field."""
    margin = curve["asked"]["margin"]
    return None if margin is None else plain(_up(exact(margin)))


def _same(one: Json, other: Json) -> bool:
    return all(one[name] == other[name] for name in ("rho", "epsilon", "delta"))


def _float(text: str) -> float:
    return float(exact(text))


def epsilon_text(value: str) -> str:
    """Return a price for people, rounded up.

    Example:
        >>> epsilon_text("0.616091"), epsilon_text("0.0062301"), epsilon_text("1.6304")
        ('ε 0.62', 'ε 0.0063', 'ε 1.64')
    """
    found = exact(value)
    if found <= 0:
        return "ε 0"
    step = Fraction(1, 100) if found >= Fraction(1, 10) else _step(found, 2)
    return f"ε {plain(ceil_to(found, step))}"


def digits(value: str, count: int) -> str:
    """Return a positive number with so many digits, rounded up.

    Example:
        >>> digits("0.009339241", 4), digits("0", 4)
        ('0.00934', '0')
    """
    found = exact(value)
    return plain(ceil_to(found, _step(found, count))) if found > 0 else "0"


def _step(value: Fraction, count: int) -> Fraction:
    return Fraction(10) ** (floor(log10(value)) - count + 1)


def _fits(budget: Json) -> str:
    fits, in_quota = budget["fits"], budget["fits_quota"]
    text = "1 such question fits" if fits == 1 else f"{fits:,} such questions fit"
    return f"{text}." if in_quota is None else f"{text}; {in_quota:,} in your quota."


def _notes(curve: Json) -> list[str]:
    """Return the notes that are not about the price, and first what limits leave out."""
    found = [each for each in curve["notes"] if not each.startswith(PRICES)]
    return sorted(found, key=lambda each: not each.startswith("At most"))


def _value(point: Json) -> str:
    if point["within"]:
        return f"within:{point['within']}"
    return next(f"{name}:{value}" for name, value in amount_of(point).items())


def _choices(curve: Json, asked: Json | None) -> list[dict[str, Any]]:
    """Return the choices of a curve; one that is next to a stored answer is that answer."""
    points = [each for each in curve["choices"] if each["margin"] is not None]
    for stored in curve["stored"]:
        margin = stored["margin"]
        if margin is None or not points or any(_same(each, stored) for each in points):
            continue
        nearest = min(
            range(len(points)), key=lambda place: _ratio(points[place]["margin"], margin)
        )
        if _ratio(points[nearest]["margin"], margin) < log(2):
            points[nearest] = {**stored, "within": None}
    points.sort(key=lambda each: _float(each["within"] or each["margin"]))
    return [
        {
            "value": _value(each),
            "label": f"± {round_error(_float(each['within'] or each['margin']))}",
            "price": "free" if each["free"] else epsilon_text(each["epsilon"]),
            "is_chosen": asked is not None
            and (
                _same(each, asked) or bool(each["within"] and each["within"] == asked["within"])
            ),
        }
        for each in points
    ]


def _ratio(one: str, other: str) -> float:
    return abs(log(_float(one) / _float(other))) if _float(one) * _float(other) > 0 else 99.0


def _closest(curve: Json) -> dict[str, str] | None:
    """Return the closest error that still fits, which people can choose."""
    point = curve["closest"]
    if point is None or point["margin"] is None:
        return None
    value = next(f"{name}:{amount}" for name, amount in amount_of(point).items())
    return {"value": value, "label": f"± {round_error(_float(point['margin']))}"}


def _cheaper(curve: Json, asked: Json) -> list[dict[str, str]]:
    """Return a larger error for about half of the share of the budget."""
    name = "rho" if asked["rho"] is not None else "epsilon"
    half = exact(asked[name]) / 2
    points = [each for each in curve["points"] if exact(each[name]) <= half and each["margin"]]
    if not points:
        return []
    best = max(points, key=lambda each: exact(each[name]))
    error = round_error(_float(best["margin"]))
    return [
        {
            "text": f"Accept ± {error}: half of the share of the budget",
            "price": epsilon_text(best["epsilon"]),
            "value": f"{name}:{plain(floor_to(exact(best[name]), Fraction(1, 10**12)))}",
        }
    ]


def _curve(curve: Json, found: Json) -> dict[str, Any]:
    """Return the picture of a curve with the point that is wanted, and what it says."""
    marks = [_place(each) for each in curve["choices"] if each["margin"] is not None]
    asked = found["asked"]
    free = {
        _place(each): "free: you have it" if each["release_key"] else "free: asked before"
        for each in curve["stored"]
        if each["margin"] is not None
    }
    closest, budget = curve["closest"], curve["budget"]
    limit = None
    if closest is not None:
        quota = budget["quota_left"]
        less = quota is not None and quota["value"] < 1 - budget["spent"]["value"]
        text = "more than your quota" if less else "more than is left"
        limit = (_float(closest["epsilon"]), text)
    picture = draw_curve(
        [_place(each) for each in curve["points"] if each["margin"] is not None],
        marks,
        None if asked["margin"] is None else _place(asked),
        free,
        limit,
    )
    told = [
        f"± {each['label'].removeprefix('± ')}: {each['price']}"
        for each in _choices(curve, asked)
    ]
    label = (
        "Error against price in epsilon: a smaller error costs more. " + "; ".join(told) + "."
    )
    return {"curve": picture, "curve_label": label}


def _place(point: Json) -> tuple[float, float]:
    return _float(point["epsilon"]), _float(point["margin"])
