"""The screen Answers: what a visitor was given, newest first. Each opens for free."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import Response

from tacit.numeric import exact
from tacit.server.console import downloads
from tacit.server.console.answers_shown import day_in_words, show_answer
from tacit.server.console.api_calls import ApiRefused
from tacit.server.console.templates_of import HEADERS
from tacit.server.console.visit import PLACE, Visit, console_router, shown_to
from tacit.server.token_policy import Role

router = console_router()

OPENS = shown_to(Role.ANALYST, Role.OWNER)
PAGE_SIZE = 50


@router.get("/answers", **OPENS)
async def answers(visit: Visit) -> Response:
    """Show the answers that the visitor was given, or those of all if the visitor owns them."""
    text, after = visit.query.get("text", ""), visit.query.get("after", "")
    population = visit.query.get("population", "")
    query = {"text": text[:200], "limit": PAGE_SIZE}
    query |= {"population": population} if population else {}
    query |= {"after": after} if after and population else {}
    found = await visit.api("GET", "/v1/answers", query=query)
    times = Counter(each["release_key"] for each in found["answers"])
    return await visit.page(
        "answers.html",
        screen="answers",
        text=text,
        answers=[_line(each, times[each["release_key"]]) for each in found["answers"]],
        more=[
            {
                "population": name,
                "address": f"{PLACE}/answers?"
                + urlencode({"text": text, "population": name, "after": place}),
            }
            for name, place in found["next"].items()
        ],
        sees_all=visit.has_role(Role.OWNER),
    )


@router.get("/answers/{receipt}", **OPENS)
async def answer(visit: Visit) -> Response:
    """Show a release as it is stored. It costs nothing, and nothing is read."""
    receipt = visit.request.path_params["receipt"]
    found = await visit.api("GET", "/v1/answers/{}", receipt)
    shown = show_answer(found) | {
        "files": [],
        "python": "",
        "curl": "",
        "address": f"{PLACE}/answers/{found['receipt']}",
        "how_safe": downloads.HOW_CSV_IS_SAFE,
        "has_certificate": True,
    }
    return await visit.page("answer.html", screen="answers", answer=shown, failed=None)


@router.get("/answers/{release_key}/certificate", **OPENS)
async def certificate(visit: Visit) -> Response:
    """Return the signed certificate of a release, as a page to keep and to verify offline."""
    key = visit.request.path_params["release_key"]
    made = await visit.try_api(
        "GET", "/v1/releases/{}/certificate", key, headers={"accept": "text/html"}
    )
    if made.status != 200:  # noqa: PLR2004
        raise ApiRefused(made)
    headers = HEADERS | {"Content-Disposition": 'attachment; filename="certificate.html"'}
    return Response(made.body, headers=headers, media_type="text/html")


def _line(given: Mapping[str, Any], times: int) -> dict[str, Any]:
    """Return a line of the list; its address opens the answer as it was asked."""
    loss = given["loss"]
    name = "rho" if loss["measure"].startswith("rho") else "epsilon"
    query = {"sql": given["sql"], name: loss["amount"]}
    query |= {"delta": loss["delta"]} if exact(loss["delta"]) else {}
    return {
        "sql": given["sql"],
        "day": day_in_words(given["day"]),
        "cost": given["cost"],
        "population": given["population"],
        "datasets": ", ".join(given["datasets"]),
        "principal": given.get("principal", ""),
        "address": f"{PLACE}/ask?{urlencode(query)}#answer",
        "stored": f"{PLACE}/answers/{given['receipt']}",
        "certificate": f"{PLACE}/answers/{given['release_key']}/certificate",
        "is_repeat": times > 1,
    }
