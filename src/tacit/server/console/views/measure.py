"""The screen Measure: an owner measures how many rows limits cut, and chooses a limit.

Both measurements are priced on the page before they are charged. The stored one is shown again
for nothing, so that the page can be opened and reloaded at any time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from fastapi import Response

from tacit.server.console.api_calls import ApiRefused
from tacit.server.console.catalogue_words import figure, limits_in_words, plural
from tacit.server.console.once import Act, act_once
from tacit.server.console.sign_ins import random_text
from tacit.server.console.templates_of import percent
from tacit.server.console.visit import Visit, console_router, number_of, query_of, shown_to
from tacit.server.token_policy import Role

router = console_router()

Json = Mapping[str, Any]

HERE, LIMITS = "/connect/measure", "/v1/setup/limits"


@dataclass(frozen=True, slots=True)
class LimitShown:
    """A limit of the newest measurement: its noise, whom it cuts, and whether it is chosen."""

    limit: str
    noise: str
    people: str
    cut: str
    mark: str
    share: float
    """The noise as a share of the largest noise that is shown."""
    is_chosen: bool


def limits_shown(estimate: Json, typed: str = "") -> list[LimitShown]:
    """Return the limits of a measurement as rows of a table; ``typed`` was chosen before.

    Example:
        >>> row = {"limit": "2", "noise": "34", "people": [5, 20], "least_cut": "0.031"}
        >>> [shown] = limits_shown({"now": "1", "suggested": "2", "limits": [row]})
        >>> shown.noise, shown.people, shown.cut, shown.mark, shown.is_chosen
        ('± 34', '5 to 20', 'at least 3.1%', 'suggested', True)
    """
    most = max(_float(each["noise"]) for each in estimate["limits"]) or 1.0
    chosen = typed or estimate["suggested"]
    found = []
    for each in estimate["limits"]:
        limit, (low, high), least = each["limit"], each["people"], each["least_cut"]
        marks = [
            word
            for word, place in (("now", "now"), ("suggested", "suggested"))
            if estimate[place] == limit
        ]
        found.append(
            LimitShown(
                limit,
                f"± {ceil(_float(each['noise'])):,}",
                f"{low:,} to {high:,}",
                f"at least {percent(float(least))}" if float(least or 0) else "not known",
                ", ".join(marks),
                _float(each["noise"]) / most,
                is_chosen=limit == chosen,
            )
        )
    return found


def _float(text: str) -> float:
    top, _, bottom = text.partition("/")
    return float(top) / float(bottom or 1)


# ------------------------------------------------------------------ pages


@router.get(HERE, **shown_to(Role.OWNER))
async def measure(visit: Visit) -> Response:
    """Show the limits of a table, what a measurement costs, and the newest one."""
    return await _show(visit, visit.query.get("table", ""))


async def _show(
    visit: Visit, wanted: str, status: int = 200, error: Json | None = None
) -> Response:
    catalog = await visit.api("GET", "/v1/datasets")
    tables = {each["name"]: each for each in catalog["datasets"]}
    units = {each["name"]: each["unit"] for each in catalog["populations"]}
    table = tables.get(wanted) or next(iter(tables.values()), None)
    known = None
    if table is not None:
        answer = await visit.try_api("GET", LIMITS, query={"dataset": table["name"]})
        if answer.status != 200:  # noqa: PLR2004 - no right to set up, or no owner of it
            raise ApiRefused(answer)
        known = answer.json
    unit = "" if table is None else units[table["population"]]
    return await visit.page(
        "connect_measure.html",
        status,
        screen="connect",
        tables=list(tables),
        table=table,
        words=[] if table is None else list(limits_in_words(table, unit)),
        known=known,
        people=plural(unit) if unit else "",
        limits=[]
        if known is None or known["estimate"] is None
        else limits_shown(known["estimate"], visit.form.get("limit", "")),
        done=_describe_profile(known, unit) if "done" in visit.query else "",
        error=error,
        once=random_text(),
    )


def _describe_profile(known: Json | None, unit: str) -> str:
    """Return what was recorded, as soon as the server has loaded it."""
    profile = None if known is None else known["profile"]
    if known is None or profile is None or profile["rows"] != known["max_rows"]:
        return (
            "The limit is recorded. The server is loading the table, which takes some seconds."
        )
    count = profile["people"]
    who = f"1 {unit} has" if count == 1 else f"{count:,} {plural(unit)} have"
    rows = "1 row" if profile["rows"] == 1 else f"{figure(str(profile['rows']))} rows"
    return f"The limit is recorded: at most {who} more than {rows} (99%)."


# ------------------------------------------------------------------ acts


@router.post(HERE, **shown_to(Role.OWNER))
async def pay(visit: Visit) -> Response:
    """Measure a table for a charge."""
    table = visit.form.get("table", "")

    async def act() -> str:
        await visit.api("POST", LIMITS, body={"dataset": table})
        return f"{HERE}?{query_of(table=table)}"

    return await _act(visit, table, act)


@router.post(f"{HERE}/use", **shown_to(Role.OWNER))
async def use(visit: Visit) -> Response:
    """Count the people beyond a limit for a charge, and declare both."""
    table = visit.form.get("table", "")
    body = {"dataset": table, "limit": number_of(visit.form.get("limit", ""))}

    async def act() -> str:
        await visit.api("POST", f"{LIMITS}/use", body=body)
        return f"{HERE}?{query_of(table=table, done='limit')}"

    return await _act(visit, table, act)


async def _act(visit: Visit, table: str, act: Act) -> Response:
    try:
        return await act_once(visit, act)
    except ApiRefused as refused:
        return await _show(visit, table, refused.status, refused.error)
