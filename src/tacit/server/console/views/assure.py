"""The screen Assure: what was promised, and the evidence that it was kept."""

from collections.abc import Mapping
from typing import Any

from fastapi import Response

from tacit.server.console.api_calls import ApiAnswer
from tacit.server.console.templates_of import HEADERS
from tacit.server.console.visit import Visit, console_router, share_spent, shown_to
from tacit.server.token_policy import Role

router = console_router()

READERS = (Role.OWNER, Role.AUDITOR)
NEWEST = 12
"""Number of the newest entries of the ledger that the screen shows."""

FIRST_STORY = "many-means"
"""The story that is chosen first: it runs in a second."""

UNPROTECTED = (
    "An owner who names the wrong person column",
    "Two installations over one table, which do not know of each other",
    "A person who holds the tables or the ledger file",
    "An attacker on the same processor",
    "Facts that hold whether or not a person took part",
)
EMPTY = "Choose a file or paste its text, and check it again."
DOCUMENTS = {
    "report": ("text/html", "report.html"),
    "registry": ("application/yaml", "registry.yaml"),
}
"""The documents of a population that can be downloaded, with a media type and a file name."""


@router.get("/assure", **shown_to(*READERS))
async def assure(visit: Visit) -> Response:
    """Show the chain and its anchor, the odds, the newest entries, documents, and attacks."""
    budgets = (await visit.api("GET", "/v1/status"))["budgets"]
    names = [each["population"] for each in budgets]
    chosen = visit.query.get("population") or (names[0] if names else None)
    if chosen is None:
        return await visit.page("assure.html", screen="assure", chosen=None, names=names)
    verdict = await visit.api("GET", "/v1/ledger/{}/verify", chosen)
    history = await visit.api("GET", "/v1/ledger/{}/history", chosen, query={"limit": NEWEST})
    odds = (await visit.api("GET", "/v1/ledger/{}/spending", chosen))["odds"]
    anchors = await visit.api("GET", "/v1/ledger/{}/anchors", chosen)
    stories = (await visit.try_api("GET", "/v1/attacks")).json.get("stories", [])
    [budget] = [each for each in budgets if each["population"] == chosen] or [None]
    budget = None if budget is None else budget | {"share_spent": share_spent(budget)}
    return await visit.page(
        "assure.html",
        screen="assure",
        chosen=chosen,
        names=names,
        verdict=verdict,
        budget=budget,
        odds=odds,
        anchors=anchors,
        lines=list(reversed(history["lines"])),
        stories=stories,
        first=FIRST_STORY,
        unprotected=UNPROTECTED,
        is_owner=visit.has_role(Role.OWNER),
    )


@router.post("/assure/verify", **shown_to(*READERS))
async def verify(visit: Visit) -> Response:
    """Check a signed document, and say who signed it and where it is in the chain."""
    # a browser sends the ends of lines of a form as two characters each
    text = visit.form.get("text", "").replace("\r\n", "\n")
    found = {"whole": False, "in_chain": None, "sentence": EMPTY, "key": ""}
    if text.strip():
        found = await visit.api("POST", "/v1/verify", body={"text": text})
    return await visit.page(
        "parts/checked.html" if visit.is_partial else "checked_document.html",
        screen="assure",
        found=found,
    )


@router.post("/assure/attack", **shown_to(*READERS))
async def attack(visit: Visit) -> Response:
    """Run a story of the gallery on synthetic people, and show what it found."""
    story = visit.form.get("story", "")
    fresh = {"fresh": "true"} if visit.form.get("fresh") else {}
    report = await visit.api("POST", "/v1/attacks/{}", story, query=fresh)
    [part] = report["parts"]
    bars = [bar_of(finding) for finding in part["findings"]]
    return await visit.page(
        "parts/attack.html" if visit.is_partial else "attack_result.html",
        screen="assure",
        part=part,
        bars=bars,
        made=report["made"],
        loss=report["loss"],
        warning=report["warning"],
        limit=any(each["allowed"] is not None for each in bars),
    )


@router.get("/assure/{population}/{document}", **shown_to(*READERS))
async def download(visit: Visit) -> Response:
    """Download a document about a population, as the API writes it."""
    names = visit.request.path_params
    kind, file = DOCUMENTS.get(names["document"], ("", ""))
    if not file:
        return visit.redirect("/assure")
    answer = await visit.try_api(
        "GET",
        f"/v1/ledger/{{}}/{names['document']}",
        names["population"],
        headers={"accept": kind},
    )
    return _as_file(answer, file) if answer.status == 200 else await _refuse(visit, answer)  # noqa: PLR2004


async def _refuse(visit: Visit, answer: ApiAnswer) -> Response:
    return await visit.page("refusal.html", answer.status, error=answer.json["error"])


def _as_file(answer: ApiAnswer, name: str) -> Response:
    """Return an answer as a file to keep; a browser does not open it in the console's name."""
    kept = {"Content-Disposition": f'attachment; filename="{name}"'}
    kind = answer.headers.get("content-type", "application/octet-stream")
    return Response(answer.body, headers=HEADERS | kept, media_type=kind)


def bar_of(finding: Mapping[str, Any]) -> dict[str, Any]:
    """Return a finding with what its bar needs: shares of the width, and words.

    Example:
        >>> found = {
        ...     "attack": "tracing",
        ...     "system": "exact",
        ...     "learns": "who is in",
        ...     "success": 0.986,
        ...     "low": 0.9,
        ...     "high": 1.0,
        ...     "chance": 0.5,
        ...     "allowed": None,
        ...     "brief": "revealed",
        ...     "tone": "bad",
        ... }
        >>> bar_of(found)["of_100"], bar_of(found)["said"]
        (99, 'tracing on exact: right in 99 of 100, where a guess is 50: revealed')
    """
    of_100, guess = round(100 * finding["success"]), round(100 * finding["chance"])
    allowed = finding["allowed"]
    limit = "" if allowed is None else f", and {round(100 * allowed)} is allowed"
    said = (
        f"{finding['attack']} on {finding['system']}: right in {of_100} of 100, "
        f"where a guess is {guess}{limit}: {finding['brief']}"
    )
    return {**finding, "of_100": of_100, "guess": guess, "said": said}
