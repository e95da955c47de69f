"""The screen Budget: what is spent and left, by whom and for how long, quotas and freezing."""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fastapi import Response

from tacit.server.console import downloads
from tacit.server.console.budget_words import SpentShown, part_of_cap, share_of, short
from tacit.server.console.catalogue_words import day_in_words
from tacit.server.console.once import act_once
from tacit.server.console.sign_ins import random_text
from tacit.server.console.spent_chart import charts_of, spent_over_time
from tacit.server.console.templates_of import HEADERS, visible
from tacit.server.console.visit import Visit, console_router, query_of, shown_to
from tacit.server.token_policy import Role

router = console_router()

Json = Mapping[str, Any]

EVERYONE = (Role.ANALYST, Role.OWNER, Role.AUDITOR)
READERS = (Role.OWNER, Role.AUDITOR)

MOST_LINES = 1000
MOST_PAGES = 200
"""The most pages of a history that are read for one file."""

LARGEST = 5
DONE = {
    "quota": "The quota is set, and the ledger says by whom.",
    "frozen": "New charges are frozen. Answers that were given before stay open and free.",
    "thawed": "The freeze is lifted. New questions are answered again.",
}
COLUMNS = ("entry", "when", "who", "kind", "what", "epsilon", "decision")


@router.get("/budget", **shown_to(*EVERYONE))
async def budget(visit: Visit) -> Response:
    """Show the budget of one population."""
    return await _page(visit)


async def _page(visit: Visit, problem: str = "", status: int = 200) -> Response:
    budgets = (await visit.api("GET", "/v1/status"))["budgets"]
    name = visit.query.get("population") or visit.form.get("population", "")
    chosen = next((each for each in budgets if each["population"] == name), None)
    if chosen is None:
        chosen = budgets[0] if budgets else None
    context: dict[str, Any] = {"names": [each["population"] for each in budgets]}
    if chosen is not None:
        context |= _everyone(chosen)
        if visit.has_role(*READERS):
            context |= await _for_readers(visit, chosen)
    return await visit.page(
        "budget.html",
        status,
        screen="budget",
        chosen=chosen,
        is_owner=visit.has_role(Role.OWNER),
        is_reader=visit.has_role(*READERS),
        once=random_text(),
        problem=problem,
        done=DONE.get(visit.query.get("done", ""), ""),
        **context,
    )


def _everyone(chosen: Json) -> dict[str, Any]:
    """Return what each role sees: the shared budget, and the visitor's own part."""
    own, cap = chosen["own"], chosen["cap"]
    has_quota = own["cap"] != cap
    quota = share_of(own["cap"], cap)
    spent = share_of(own["spent"], cap)
    return {
        "spent": SpentShown.of(chosen),
        "own": {
            "spent": spent,
            "quota": quota if has_quota else None,
            "left": share_of(own["left"], cap),
            "used": min(spent / quota, 1.0) if quota else 1.0,
        },
    }


async def _for_readers(visit: Visit, chosen: Json) -> dict[str, Any]:
    """Return what owners and auditors see of everybody's spending."""
    name = chosen["population"]
    query = {"kind": ["opening", "charge", "inheritance", "restore"], "limit": MOST_LINES}
    told = await visit.api("GET", "/v1/ledger/{}/history", name, query=query)
    spending = await visit.api("GET", "/v1/ledger/{}/spending", name)
    forecast = spending["forecast"]
    lines, cap = told["lines"], chosen["cap"]
    over_time = spent_over_time(lines, chosen, datetime.now(UTC).date())
    wide, narrow = charts_of(over_time, forecast["days"])
    wanted = visit.query.get("change")
    return {
        "spending": spending,
        "until": _until(forecast),
        "wide": wide,
        "narrow": narrow,
        "odds": _odds_scale(spending["odds"]),
        "quotas": _quotas(spending["quotas"], cap, _last_asked(lines)),
        "largest": _largest(lines, cap),
        "change": wanted if visit.has_role(Role.OWNER) else None,
    }


def _until(forecast: Json) -> str:
    return "" if forecast["until"] is None else day_in_words(forecast["until"])


def _odds_scale(odds: Json) -> dict[str, Any]:
    """Return the odds, and where they are on a scale from 50 to 100 that is 362 wide."""
    x_cap = 14 + (odds["cap"] - 50) / 50 * 362
    is_right = odds["cap"] > 75  # noqa: PLR2004 - then there is no room to the right of the mark
    return {
        "look": "end" if is_right else "",
        "x_label": x_cap + (-6 if is_right else 6),
        "now": odds["now"],
        "cap": odds["cap"],
        "sentence": odds["sentence"],
        "x_now": 14 + (odds["now"] - 50) / 50 * 362,
        "x_cap": x_cap,
        "done": (odds["now"] - 50) / 50 * 362,
    }


def _last_asked(lines: Sequence[Json]) -> dict[str, str]:
    return {each["who"]: each["when"][:16] for each in lines if each["kind"] == "charge"}


def _quotas(found: Sequence[Json], cap: Json, last: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the quotas; the last one is that of analysts who have none of their own."""
    rows = []
    for each in found:
        quota = None if each["quota"] is None else share_of(each["quota"], cap)
        spent = share_of(each["spent"], cap)
        rows.append(
            {
                "holder": each["holder"],
                "spent": spent,
                "quota": quota,
                "used": min(spent / quota, 1.0) if quota else min(spent, 1.0),
                "last": last.get(each["holder"] or "", ""),
            }
        )
    if all(each["holder"] for each in rows):
        rows.append({"holder": None, "spent": 0.0, "quota": None, "used": 0.0, "last": ""})
    return sorted(rows, key=lambda each: (each["holder"] is None, -each["spent"]))


def _largest(lines: Sequence[Json], cap: Json) -> list[dict[str, Any]]:
    charges = [each for each in lines if each["kind"] == "charge" and each["cost"] is not None]
    charges.sort(key=lambda each: -share_of(each["cost"], cap))
    return [
        {
            "what": each["what"],
            "who": each["who"],
            "when": each["when"][:16],
            "epsilon": short(each["epsilon"]) if each["epsilon"] else "",
            "share": share_of(each["cost"], cap),
        }
        for each in charges[:LARGEST]
    ]


# ------------------------------------------------------------------ acts of owners


@router.post("/budget/quota", **shown_to(Role.OWNER))
async def change_quota(visit: Visit) -> Response:
    """Set the quota of an analyst, a team, or everybody without one, as a share."""
    name, percent = visit.form.get("population", ""), visit.form.get("percent", "").strip()
    budgets = (await visit.api("GET", "/v1/status"))["budgets"]
    cap = next((each["cap"] for each in budgets if each["population"] == name), None)
    if cap is None:
        return await _page(visit, "There is no such population that you own.", 404)
    try:
        amount = part_of_cap(percent, cap)
    except ValueError:
        return await _page(visit, "Give the quota as a number from 0 to 100 percent.", 422)
    holder = visit.form.get("holder", "").strip() or None

    async def act() -> str:
        body = {"holder": holder, **amount}
        await visit.api("POST", "/v1/ledger/{}/quotas", name, body=body)
        return _path_after(name, "quota")

    return await act_once(visit, act)


@router.get("/budget/freeze", **shown_to(Role.OWNER))
async def confirm_freeze(visit: Visit) -> Response:
    """Say what a freeze does, or what lifting it does, and ask for a confirmation."""
    name = visit.query.get("population", "")
    budgets = (await visit.api("GET", "/v1/status"))["budgets"]
    chosen = next((each for each in budgets if each["population"] == name), None)
    if chosen is None:
        return await _page(visit, "There is no such population that you own.", 404)
    return await visit.page("freeze.html", screen="budget", chosen=chosen, once=random_text())


@router.post("/budget/freeze", **shown_to(Role.OWNER))
async def freeze(visit: Visit) -> Response:
    """Stop all new charges about a population."""
    return await act_once(visit, lambda: _freeze(visit, "freeze", "frozen"))


@router.post("/budget/thaw", **shown_to(Role.OWNER))
async def thaw(visit: Visit) -> Response:
    """Allow new charges about a population again."""
    return await act_once(visit, lambda: _freeze(visit, "thaw", "thawed"))


async def _freeze(visit: Visit, verb: str, done: str) -> str:
    name = visit.form.get("population", "")
    await visit.api("POST", f"/v1/ledger/{{}}/{verb}", name)
    return _path_after(name, done)


def _path_after(population: str, done: str) -> str:
    return f"/budget?{query_of(population=population, done=done)}"


# ------------------------------------------------------------------ the history as a file


@router.get("/budget/history.csv", **shown_to(*READERS))
async def history_file(visit: Visit) -> Response:
    """Return the history of a population as CSV, the oldest line first."""
    name = visit.query.get("population", "")
    lines, is_whole = await _all_lines(visit, name)
    text = io.StringIO()
    # a spreadsheet that splits cells at semicolons would else find a formula inside a text
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    if not is_whole:
        writer.writerow(["", "", "", "", "Older lines are left out.", "", ""])
    for each in lines:
        writer.writerow([as_cell(each[column]) for column in COLUMNS])
    headers = {**HEADERS, "Content-Disposition": 'attachment; filename="history.csv"'}
    return Response(text.getvalue(), headers=headers, media_type="text/csv")


async def _all_lines(visit: Visit, name: str) -> tuple[list[Json], bool]:
    """Return the lines of a history, and whether these are all; the API has them by pages."""
    found: dict[int, Json] = {}
    until: str | None = None
    for _ in range(MOST_PAGES):
        query = {"limit": MOST_LINES, "until": until}
        told = await visit.api("GET", "/v1/ledger/{}/history", name, query=query)
        before = len(found)
        found |= {each["entry"]: each for each in told["lines"]}
        dated = [each["when"][:10] for each in told["lines"] if each["when"]]
        if not told["more"]:
            return [found[each] for each in sorted(found)], True
        if len(found) == before or not dated:
            break
        until = dated[0]
    return [found[each] for each in sorted(found)], False


def as_cell(value: object) -> str:
    """Return a value for a spreadsheet, which must not run it as a formula.

    Example:
        >>> as_cell("=1+1"), as_cell(12), as_cell(None), as_cell("ann"), as_cell(" =1+1")
        ("'=1+1", '12', '', 'ann', "' =1+1")
    """
    return "" if value is None else str(downloads.harmless(visible(value)))
