"""The screen Ask: a question, how close its answer must be, its price, and its answer.

Only `ask` charges, for a form that shows the price. Everything else is free, and a request with
GET never charges: stored answers are opened by `POST /v1/open`, which cannot.
"""

from typing import Any
from urllib.parse import urlencode

from fastapi import Response

from tacit.numeric import exact, plain
from tacit.server.console import downloads
from tacit.server.console.answers_shown import show_answer
from tacit.server.console.api_calls import ApiAnswer, ApiRefused
from tacit.server.console.completion import completion_of
from tacit.server.console.quotes_shown import Wanted, price
from tacit.server.console.templates_of import HEADERS
from tacit.server.console.visit import PLACE, Visit, console_router, shown_to
from tacit.server.token_policy import Role

router = console_router()

ASKS = shown_to(Role.ANALYST, Role.OWNER)
LONGEST_ADDRESS = 6000
"""Letters of an address; a longer question has none, and its page answers the form itself."""

LOST = 410
UNKNOWN_STATUS = 503
KINDS = {
    "csv": ("application/json", "text/csv; charset=utf-8"),
    "json": ("application/json", "application/json"),
    "parquet": (downloads.ARROW, "application/vnd.apache.parquet"),
}
"""Kinds of files: what the API is asked for, and the type of the file."""

UNNAMED = "Write a question and a name for it, without a slash, and save it again."
CHANGED = (
    "The question or the error changed after its price was shown. This is the price now; "
    "nothing was asked or charged."
)


@router.get("/ask", **ASKS)
async def ask_page(visit: Visit) -> Response:
    """Show the screen, and the answer to its question if it is stored and so free."""
    wanted = Wanted.of_query(visit.query)
    quote = await price(visit, wanted)
    answer = None
    if quote["state"] == "public" or quote.get("is_free"):
        opened = await visit.try_api("POST", "/v1/open", body=quote["share_query"])
        answer = _show(visit, opened, quote) if opened.status == 200 else None  # noqa: PLR2004
    return await _page(visit, quote, answer=answer)


@router.post("/ask/quote", **ASKS)
async def quote_part(visit: Visit) -> Response:
    """Show the price of what is written into the form; this is free."""
    quote = await price(visit, Wanted.of_form(visit.form))
    if visit.is_partial:
        return await visit.page("parts/quote_swapped.html", quote=_with_address(quote))
    return await _page(visit, quote)


@router.post("/ask", **shown_to(Role.ANALYST))
async def ask(visit: Visit) -> Response:
    """Ask for the price that was shown, and open the answer.

    The key of the form makes this one request: sent twice, it is charged once.
    """
    form, wanted = visit.form, Wanted.of_form(visit.form)
    is_shown = form.get("quoted") == wanted.digest and wanted.amounts
    if not is_shown or form.get("choice", "") != form.get("chosen", ""):
        return await _page(visit, await price(visit, wanted), notice=("warn", CHANGED))
    body = wanted.body | dict(wanted.amounts)
    key = form.get("key", "")
    answer = await visit.try_api(
        "POST", "/v1/ask", body=body, headers={"Idempotency-Key": key} if key else {}
    )
    if answer.status == 200:  # noqa: PLR2004
        address = f"/ask?{urlencode(body)}#answer"
        if len(address) <= LONGEST_ADDRESS:
            return visit.redirect(address)
        quote = await price(visit, wanted)
        return await _page(visit, quote, answer=_show(visit, answer, quote))
    kept = key if answer.status == UNKNOWN_STATUS else ""  # what is sent again is the same
    quote = await price(visit, wanted, kept)
    return await _page(visit, quote, answer.status, failed=_explain_failure(visit, answer))


@router.post("/ask/more", **shown_to(Role.ANALYST))
async def ask_for_more(visit: Visit) -> Response:
    """Ask the owners for a larger quota: what is spent of it, and this question."""
    form = visit.form
    quote = await price(visit, Wanted.of_form(form))
    if "loss" not in quote:
        return await _page(visit, quote)
    population = quote["population"]
    status = await visit.api("GET", "/v1/status")
    [own] = [each["own"] for each in status["budgets"] if each["population"] == population]
    name = "rho" if "rho" in quote["loss"] else "epsilon"
    amount = exact(own["spent"]["amount"]) + exact(quote["loss"][name])
    body = {name: plain(amount), "reason": form.get("reason", "").strip()}
    answer = await visit.try_api("POST", "/v1/ledger/{}/requests", population, body=body)
    said = "Your request waits for an owner of this budget. Nothing was charged."
    return await _page(visit, quote, notice=_notice_for(answer, said))


@router.post("/ask/save", **ASKS)
async def save(visit: Visit) -> Response:
    """Save the question under a name, or replace the one of that name."""
    form, wanted = visit.form, Wanted.of_form(visit.form)
    name = form.get("name", "").strip()
    quote = await price(visit, wanted)
    body = {"sql": wanted.sql} | ({"within": wanted.error} if wanted.error else {})
    if not name or "/" in name or not wanted.sql.strip():
        return await _page(visit, quote, notice=("warn", UNNAMED))
    answer = await visit.try_api("PUT", "/v1/questions/{}", name, body=body)
    return await _page(visit, quote, notice=_notice_for(answer, f"“{name}” is saved."))


@router.post("/ask/remove", **ASKS)
async def remove(visit: Visit) -> Response:
    """Remove a saved question."""
    name = visit.form.get("remove", "")
    answer = await visit.try_api("DELETE", "/v1/questions/{}", name)
    quote = await price(visit, Wanted.of_form(visit.form))
    return await _page(visit, quote, notice=_notice_for(answer, f"“{name}” is removed."))


@router.get("/ask/answer.{kind}", **ASKS)
async def download(visit: Visit) -> Response:
    """Return a stored answer as a file. Nothing is charged: what is not stored is not there."""
    kind = visit.request.path_params["kind"]
    if kind not in KINDS:
        kind = "json"
    wanted = Wanted.of_query(visit.query)
    accept, media_type = KINDS[kind]
    body = wanted.body | dict(wanted.amounts)
    answer = await visit.try_api("POST", "/v1/open", body=body, headers={"accept": accept})
    if answer.status != 200:  # noqa: PLR2004
        raise ApiRefused(answer)
    return file_of(kind, answer, media_type)


@router.get("/ask/{form}", **ASKS)
async def first_form(visit: Visit) -> Response:
    """Open the screen for people who signed in again while they sent one of its forms."""
    return visit.redirect("/ask")


def file_of(kind: str, answer: ApiAnswer, media_type: str) -> Response:
    """Return an answer of the API as a file of this kind, to be kept by the browser."""
    content = answer.body
    if kind == "csv":
        content = downloads.to_csv(answer.json["columns"]).encode()
    elif kind == "parquet":
        content = downloads.to_parquet(content)
    headers = HEADERS | {"Content-Disposition": f'attachment; filename="answer.{kind}"'}
    return Response(content, headers=headers, media_type=media_type)


# ------------------------------------------------------------------ the page


def _with_address(quote: dict[str, Any]) -> dict[str, Any]:
    """Return a quote with the address at which everybody who may ask it opens it for free."""
    query = quote.get("share_query")
    return quote | {"address": f"{PLACE}/ask?{urlencode(query)}" if query else ""}


async def _page(
    visit: Visit, quote: dict[str, Any], status: int = 200, **more: Any
) -> Response:
    catalogue = await visit.api("GET", "/v1/datasets")
    saved = await visit.try_api("GET", "/v1/questions")
    context: dict[str, Any] = {"answer": None, "failed": None, "notice": None} | more
    return await visit.page(
        "ask.html",
        status,
        screen="ask",
        quote=_with_address(quote),
        may_ask=visit.has_role(Role.ANALYST),
        completion=completion_of(catalogue),
        tables=[each["name"] for each in catalogue["datasets"]],
        saved=_list_saved(saved),
        starts=await _starts(visit, catalogue) if quote["state"] == "empty" else [],
        **context,
    )


async def _starts(visit: Visit, catalogue: Any) -> list[dict[str, str]]:
    """Return questions that work, about the first table, with the addresses that open them."""
    for table in catalogue["datasets"][:1]:
        found = await visit.try_api("GET", "/v1/datasets/{}/examples", table["name"])
        if found.status == 200:  # noqa: PLR2004
            return [
                {
                    "sentence": each["sentence"],
                    "address": f"{PLACE}/ask?{urlencode({'sql': each['sql']})}",
                }
                for each in found.json["examples"][:3]
            ]
    return []


def _list_saved(answer: ApiAnswer) -> list[dict[str, str]]:
    """Return the saved questions, with the addresses that open them."""
    found = answer.json["questions"] if answer.status == 200 else []  # noqa: PLR2004
    return [
        {
            "name": each["name"],
            "address": f"{PLACE}/ask?"
            + urlencode({"sql": each["sql"]} | ({"error": e} if (e := each["within"]) else {})),
        }
        for each in found
    ]


def _notice_for(answer: ApiAnswer, text: str) -> tuple[str, str]:
    """Return the kind and the text of a notice: ``text``, or why the API refused."""
    if answer.status < 400:  # noqa: PLR2004
        return "info", text
    error = ApiRefused(answer).error
    return "bad", " ".join(filter(None, (error["message"], error.get("next"))))


def _show(visit: Visit, answer: ApiAnswer, quote: dict[str, Any]) -> dict[str, Any]:
    """Return what the screen shows of an answer, with its downloads and its code."""
    query = quote["share_query"]
    amounts = {name: value for name, value in query.items() if name != "sql"}
    address = api_address(visit)
    return show_answer(answer.json) | {
        "files": [
            {"kind": kind, "address": f"{PLACE}/ask/answer.{kind}?{urlencode(query)}"}
            for kind in KINDS
            if kind != "parquet" or downloads.has_parquet()
        ],
        "python": downloads.as_python(query["sql"], amounts, address),
        "curl": downloads.as_curl(query["sql"], amounts, address),
        "address": f"{PLACE}/ask?{urlencode(query)}",
        "how_safe": downloads.HOW_CSV_IS_SAFE,
        "has_certificate": quote.get("is_own") or visit.has_role(Role.OWNER),
    }


def api_address(visit: Visit) -> str:
    """Return the address at which this browser reaches the API."""
    request = visit.request
    given: str | None = request.app.state.address
    return (given or f"{request.url.scheme}://{request.url.netloc}").rstrip("/")


def _explain_failure(visit: Visit, answer: ApiAnswer) -> dict[str, Any]:
    """Return what the screen says about a question that gave no answer."""
    error = ApiRefused(answer).error
    titles = {
        LOST: "It was charged, and the answer was lost.",
        500: "It failed after it was charged.",
        402: "It is more than is left. Nothing was charged.",
        423: "New questions are stopped. Nothing was charged.",
        UNKNOWN_STATUS: "It was not answered yet.",
    }
    return {
        "title": titles.get(answer.status, "It was refused. Nothing was charged."),
        "message": error["message"],
        "next": error.get("next"),
        "is_lost": answer.status in {LOST, 500},
        "may_look": visit.has_role(Role.OWNER),
    }
