"""Tokens on the screen Decide: one is issued, shown exactly once, and revoked."""

from collections.abc import Mapping
from typing import Any

from fastapi import Response

from tacit.server.console.api_calls import ApiRefused
from tacit.server.console.once import act_once
from tacit.server.console.sign_ins import random_text
from tacit.server.console.visit import Visit, console_router, query_of, shown_to
from tacit.server.console.waiting import moment
from tacit.server.token_policy import Role

router = console_router()

MOST_SECRETS = 20
"""The most new tokens of a visit that wait to be shown; the oldest is dropped first."""

USUAL_DAYS = "30"


@router.get("/decide/token", **shown_to(Role.OWNER))
async def new_token(visit: Visit) -> Response:
    """Show the form for a new token."""
    return await _form(visit)


async def _form(
    visit: Visit, error: Mapping[str, Any] | None = None, status: int = 200
) -> Response:
    catalog = await visit.api("GET", "/v1/datasets")
    return await visit.page(
        "token_form.html",
        status,
        screen="decide",
        datasets=[each["name"] for each in (*catalog["datasets"], *catalog["public"])],
        once=random_text(),
        error=error,
        given={"days": USUAL_DAYS, "principal": "", "role": "analyst", "epsilon": ""}
        | {name: text for name, text in visit.form.items() if name not in {"csrf", "once"}},
    )


@router.post("/decide/token", **shown_to(Role.OWNER))
async def issue(visit: Visit) -> Response:
    """Issue a token, and open the one page that shows it."""
    form = visit.form
    named = [text for name, text in form.items() if name.startswith("dataset-")]
    days = form.get("days", "").strip()
    body: dict[str, Any] = {
        "principal": form.get("principal", "").strip(),
        "role": form.get("role", ""),
        "days": int(days) if days.isdecimal() and len(days) < 6 else days,  # noqa: PLR2004
    }
    if named:
        body["datasets"] = named
    if epsilon := form.get("epsilon", "").strip():
        body["most"] = {"epsilon": epsilon}

    async def act() -> str:
        told = await visit.api("POST", "/v1/tokens", body=body)
        secrets, place = visit.sign_in.secrets, random_text()
        while len(secrets) >= MOST_SECRETS:
            del secrets[next(iter(secrets))]
        secrets[place] = told
        return f"/decide/token/issued?{query_of(at=place)}"

    try:
        return await act_once(visit, act)
    except ApiRefused as refused:
        return await _form(visit, refused.error, refused.status)


@router.get("/decide/token/issued", **shown_to(Role.OWNER))
async def show_issued(visit: Visit) -> Response:
    """Show a new token, which is forgotten before the page is sent."""
    told = visit.sign_in.secrets.pop(visit.query.get("at", ""), None)
    until = "" if told is None else moment(told["expires"])
    status = 200 if told is not None else 410
    return await visit.page(
        "token_issued.html", status, screen="decide", issued=told, until=until
    )


@router.post("/decide/token/revoke", **shown_to(Role.OWNER))
async def revoke(visit: Visit) -> Response:
    """Revoke a token."""

    async def act() -> str:
        await visit.api("DELETE", "/v1/tokens/{}", visit.form.get("id", ""))
        return f"/decide?{query_of(done='revoke')}"

    return await act_once(visit, act)
