"""The screen Decide: what waits for an owner, teams, and declarations now and before."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Response

from tacit.server.console.budget_words import part_of_cap
from tacit.server.console.once import act_once
from tacit.server.console.sign_ins import random_text
from tacit.server.console.visit import Visit, console_router, query_of, shown_to
from tacit.server.console.waiting import count_waiting, moment, waiting_for
from tacit.server.token_policy import Role

router = console_router()

Json = Mapping[str, Any]

DECIDED = (
    *("approval", "withdrawal", "proposal", "quota", "request", "review"),
    *("freeze", "thaw", "team", "cap", "declaration"),
)
RECENT = 8
DONE = {
    "approve": "Approved. It is in effect, and the ledger names you.",
    "withdraw": "Withdrawn. It can no longer be approved.",
    "grant": "Granted. The new quota is in effect.",
    "decline": "Declined. The quota stays as it is.",
    "look": "New questions are answered again. The ledger says that you looked.",
    "join": "The analyst is a member of the team.",
    "leave": "The analyst is no longer a member. The team keeps the sum of their charges.",
    "revoke": "The token is revoked. It opens nothing any more.",
}


@router.get("/decide", **shown_to(Role.OWNER))
async def decide(visit: Visit) -> Response:
    """Show what waits for the visitor, and what was decided before."""
    return await _page(visit)


async def _page(visit: Visit, problem: str = "", status: int = 200) -> Response:
    budgets = (await visit.api("GET", "/v1/status"))["budgets"]
    items = await waiting_for(visit, budgets)
    names = [each["population"] for each in budgets]
    tokens = (await visit.api("GET", "/v1/tokens"))["tokens"]
    return await visit.page(
        "decide.html",
        status,
        screen="decide",
        items=items,
        waiting=len(items),
        stopped=sum(each.look == "bad" for each in items),
        teams=[await _teams(visit, each) for each in names],
        recent=await _newest(visit, names),
        tokens=[dict(each, until=moment(each["expires"])) for each in tokens],
        names=names,
        once=random_text(),
        problem=problem,
        done=DONE.get(visit.query.get("done", ""), ""),
    )


async def _teams(visit: Visit, population: str) -> dict[str, Any]:
    told = await visit.api("GET", "/v1/ledger/{}/teams", population)
    return {"population": population, "teams": sorted(told["teams"].items())}


async def _newest(visit: Visit, names: Sequence[str]) -> list[dict[str, Any]]:
    lines = [line for each in names for line in await _recent(visit, each)]
    return sorted(lines, key=lambda line: -(line["at"] or 0))[:RECENT]


async def _recent(visit: Visit, population: str) -> list[dict[str, Any]]:
    """Return the newest decisions about a population, and how each was signed."""
    query = {"kind": [*DECIDED, "signature"], "limit": 2 * RECENT}
    told = await visit.api("GET", "/v1/ledger/{}/history", population, query=query)
    signed = {}
    for each in told["lines"]:
        if each["kind"] == "signature":
            entry, _, how = each["what"].removeprefix("of entry ").partition(", by ")
            signed[entry] = how
    return [
        {
            **each,
            "population": population,
            "time": moment(each["at"]),
            "signed": signed.get(str(each["entry"]), ""),
        }
        for each in told["lines"]
        if each["kind"] != "signature"
    ][-RECENT:]


@router.get("/decide/count", **shown_to(Role.OWNER))
async def count(visit: Visit) -> Response:
    """Return the badge of the menu, which htmx puts into each page."""
    return await visit.page("parts/count.html", waiting=await count_waiting(visit))


# ------------------------------------------------------------------ acts


@router.post("/decide/look", **shown_to(Role.OWNER))
async def look(visit: Visit) -> Response:
    """Record that the visitor looked at late and failed answers."""

    async def act() -> str:
        await visit.api("POST", "/v1/ledger/{}/look", visit.form.get("population", ""))
        return _path_after("look")

    return await act_once(visit, act)


async def _on_number(visit: Visit, kind: str, verb: str, body: Any = None) -> Response:
    """Do what a button says to the proposal or request with the number of the form."""
    name, number = visit.form.get("population", ""), visit.form.get("number", "")

    async def act() -> str:
        path = f"/v1/ledger/{{}}/{kind}/{{}}/{verb}"
        await visit.api("POST", path, name, number, body=body)
        return _path_after(verb)

    return await act_once(visit, act)


@router.post("/decide/approve", **shown_to(Role.OWNER))
async def approve(visit: Visit) -> Response:
    """Approve a proposal, with the fingerprint if it is about a key."""
    given = visit.form.get("fingerprint", "").strip()
    body = {"fingerprint": given} if given else None
    return await _on_number(visit, "proposals", "approve", body)


@router.post("/decide/withdraw", **shown_to(Role.OWNER))
async def withdraw(visit: Visit) -> Response:
    """Withdraw a proposal."""
    return await _on_number(visit, "proposals", "withdraw")


@router.post("/decide/decline", **shown_to(Role.OWNER))
async def decline(visit: Visit) -> Response:
    """Decline a request for a larger quota."""
    return await _on_number(visit, "requests", "decline")


@router.post("/decide/grant", **shown_to(Role.OWNER))
async def grant(visit: Visit) -> Response:
    """Grant a request, with the quota asked for or with another share of the budget."""
    percent = visit.form.get("percent", "").strip()
    if not percent:
        return await _on_number(visit, "requests", "grant")
    name = visit.form.get("population", "")
    budgets = (await visit.api("GET", "/v1/status"))["budgets"]
    cap = next((each["cap"] for each in budgets if each["population"] == name), None)
    try:
        body = None if cap is None else part_of_cap(percent, cap)
    except ValueError:
        return await _page(visit, "Give the quota as a number from 0 to 100 percent.", 422)
    return await _on_number(visit, "requests", "grant", body)


@router.post("/decide/join", **shown_to(Role.OWNER))
async def join(visit: Visit) -> Response:
    """Add an analyst to a team."""
    return await _membership(visit, "join")


@router.post("/decide/leave", **shown_to(Role.OWNER))
async def leave(visit: Visit) -> Response:
    """Remove an analyst from a team."""
    return await _membership(visit, "leave")


async def _membership(visit: Visit, verb: str) -> Response:
    named = {name: visit.form.get(name, "").strip() for name in ("team", "principal")}

    async def act() -> str:
        name = visit.form.get("population", "")
        await visit.api("POST", f"/v1/ledger/{{}}/teams/{verb}", name, body=named)
        return _path_after(verb)

    return await act_once(visit, act)


def _path_after(what: str) -> str:
    return f"/decide?{query_of(done=what)}"


# ------------------------------------------------------------------ declarations


@router.get("/decide/declarations", **shown_to(Role.OWNER))
async def declarations(visit: Visit) -> Response:
    """Show what is declared about the tables of a population now, and what was before."""
    name = visit.query.get("population", "")
    query = {"kind": "declaration", "limit": 2}
    told = await visit.api("GET", "/v1/ledger/{}/history", name, query=query)
    found = [await _facts(visit, name, each["entry"]) for each in told["lines"]]
    now = found[-1] if found else []
    before = found[0] if len(found) > 1 else []
    last = told["lines"][-1] if told["lines"] else None
    return await visit.page(
        "declarations.html",
        screen="decide",
        population=name,
        by="" if last is None else last["who"],
        time="" if last is None else moment(last["at"]),
        is_first=len(found) < 2,  # noqa: PLR2004 - one now, and one before
        removed=[each for each in before if each not in set(now)],
        added=[each for each in now if each not in set(before)],
        same=[each for each in now if each in set(before)],
    )


async def _facts(visit: Visit, population: str, entry: int) -> list[str]:
    """Return the facts of the declaration that is an entry of the chain."""
    query = {"after": entry - 1, "limit": 1}
    told = await visit.api("GET", "/v1/ledger/{}", population, query=query)
    return [str(each) for each in json.loads(told["entries"][0]["body"]).get("facts", ())]
