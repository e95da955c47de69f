"""Sign in, sign out, and the first page."""

import json

from fastapi import Response
from starlette.exceptions import HTTPException

from tacit.errors import NotPermitted
from tacit.server.console.api_calls import ApiRefused, call_api
from tacit.server.console.code_flow import BEGUN_SECONDS, CodeFlow
from tacit.server.console.entry_links import EntryLinks
from tacit.server.console.sign_ins import SignIns
from tacit.server.console.templates_of import SCREENS
from tacit.server.console.visit import (
    BEGUN,
    LONGEST_NEXT,
    PLACE,
    Visit,
    console_router,
    cookie_name,
    drop_cookie,
    redirect_to,
    set_cookie,
    shown_to,
    sign_in_of,
)
from tacit.server.token_policy import Role

router = console_router()

EVERY = (Role.ANALYST, Role.OWNER, Role.AUDITOR)
LONGEST_TOKEN = 8192
NOT_VALID = "This token is not valid. It may have ended, or been revoked. Ask an owner for one."
ENDED = "Your visit has ended, or your token is no longer valid. Sign in again to go on."
NOT_KNOWN = (
    "The identity provider knows you, and Tacit does not accept its token. Ask an owner "
    "whether your account has a role here."
)
NO_SCREENS = (
    "This is the token of an operator, who has no screens here. Use it to read /metrics, or "
    "sign in with a token of another role."
)


@router.get("/", **shown_to(*EVERY))
async def first_page(visit: Visit) -> Response:
    """Open the first screen of the visitor's role, or Connect if nothing can be asked yet."""
    if visit.sign_in.may_set_up and not (await visit.api("GET", "/v1/status"))["budgets"]:
        return visit.redirect("/connect")
    [first, *_] = [at for at, _, roles in SCREENS if visit.sign_in.role in roles]
    return visit.redirect(f"/{first}")


@router.get("/sign-in", **shown_to())
async def sign_in_page(visit: Visit) -> Response:
    """Show the form for a token."""
    problem = ENDED if "ended" in visit.query else ""
    return await _form(visit, 200, visit.query.get("next", ""), problem)


@router.post("/sign-in", **shown_to())
async def sign_in(visit: Visit) -> Response:
    """Sign in with a token, which the API checks."""
    token, after = visit.form.get("token", "").strip(), visit.form.get("next", "")
    if not (token.isascii() and token.isprintable() and 0 < len(token) <= LONGEST_TOKEN):
        return await _form(visit, 401, after, NOT_VALID)
    return await begin_visit(visit, token, after)


async def begin_visit(
    visit: Visit, token: str, after: str, refused: str = NOT_VALID
) -> Response:
    """Sign in with ``token`` if the API accepts it, and open the page ``after``.

    If it does not, the page to sign in says why: ``refused``.
    """
    request = visit.request
    answer = await call_api(request.app.state.api, "GET", "/v1/me", token, outer=request)
    if answer.status == 401:  # noqa: PLR2004 - the status says that nobody has this token
        return await _form(visit, 401, after, refused)
    if answer.status != 200:  # noqa: PLR2004 - the server is busy, or has failed
        raise ApiRefused(answer)
    me = answer.json
    if me["role"] not in EVERY:
        return await _form(visit, 403, after, NO_SCREENS)
    sign_ins: SignIns = request.app.state.sign_ins
    if (before := sign_in_of(request)) is not None:
        sign_ins.end(before)
    account = json.dumps([me["principal"], me["role"], me["datasets"]])
    response = redirect_to(request, after if is_own_page(after) else PLACE + "/")
    id_ = sign_ins.begin(
        token, me["principal"], me["role"], account, may_set_up=me["may_set_up"]
    )
    set_cookie(request, response, id_)
    return response


async def _form(visit: Visit, status: int, after: str, problem: str) -> Response:
    """Return the page to sign in, which then leads to ``after`` if that is a page of ours."""
    after = after if is_own_page(after) else ""
    has_provider = visit.request.app.state.flow is not None
    return await visit.page(
        "sign_in.html", status, next=after, problem=problem, has_provider=has_provider
    )


@router.get("/sign-in/provider", **shown_to())
async def to_provider(visit: Visit) -> Response:
    """Open the page of the identity provider where people sign in."""
    flow, after = _flow(visit), visit.query.get("next", "")
    address, begun = flow.begin(after if is_own_page(after) else "")
    response = redirect_to(visit.request, address)
    set_cookie(visit.request, response, begun, BEGUN, BEGUN_SECONDS)
    return response


@router.get("/signed-in", **shown_to())
async def from_provider(visit: Visit) -> Response:
    """End a sign-in at the identity provider, which sent the browser here with a code."""
    request, flow = visit.request, _flow(visit)
    cookie = request.cookies.get(cookie_name(request, BEGUN), "")
    query, lanes = dict(visit.query), request.app.state.api.state.lanes
    try:
        token, after = await lanes.providers.run(lambda: flow.end(query, cookie))
        response = await begin_visit(visit, token, after, NOT_KNOWN)
    except NotPermitted as refused:
        response = await _form(visit, 403, "", str(refused))
    drop_cookie(request, response, BEGUN)
    return response


def _flow(visit: Visit) -> CodeFlow:
    flow: CodeFlow | None = visit.request.app.state.flow
    if flow is None:
        raise HTTPException(404)
    return flow


@router.get("/entry", **shown_to())
async def entry_page(visit: Visit) -> Response:
    """Show who can sign in by a link; the link is used up only by the form."""
    code = visit.query.get("code", "")
    offers = _links(visit).offers(code)
    return await visit.page("entry.html", 200 if offers else 403, code=code, offers=offers)


@router.post("/entry", **shown_to())
async def entry(visit: Visit) -> Response:
    """Sign in by a link."""
    token = _links(visit).take(visit.form.get("code", ""), visit.form.get("who", ""))
    if token is None:
        return await visit.page("entry.html", 403, code="", offers=())
    return await begin_visit(visit, token, "")


def _links(visit: Visit) -> EntryLinks:
    links: EntryLinks = visit.request.app.state.entry_links
    return links


@router.post("/sign-out", **shown_to(*EVERY))
async def sign_out(visit: Visit) -> Response:
    """End this visit; the token itself stays valid."""
    visit.request.app.state.sign_ins.end(visit.sign_in)
    response = visit.redirect("/sign-in")
    drop_cookie(visit.request, response)
    return response


def is_own_page(address: str) -> bool:
    r"""Return whether ``address`` is a page of the console, and of no other site.

    Example:
        >>> is_own_page("/console/ask?sql=1"), is_own_page("//evil.example/console/")
        (True, False)
        >>> is_own_page("/console/\\evil")
        False
    """
    clean = address.isascii() and address.isprintable() and len(address) <= LONGEST_NEXT
    path = address.partition("?")[0].lower()
    clean = clean and not any(part in path for part in ("\\", "/..", "/%2e", "//"))
    return clean and address.startswith(PLACE + "/")
