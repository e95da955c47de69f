"""The visit that a view gets: the visitor, the API, and the pages that answer them.

A view is a function of a `Visit`. It calls the API with the visitor's token, and renders a
template with what the API answered. Before it runs, its route has checked the visitor's cookie,
where the request came from, and, if it changes anything, the secret of the visitor's forms.
"""

import hmac
from collections.abc import Callable, Coroutine, Mapping
from fractions import Fraction
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp

from tacit.errors import InternalError
from tacit.numeric import exact
from tacit.server.console.api_calls import ApiAnswer, ApiRefused, call_api, path_of
from tacit.server.console.sign_ins import SignIn, SignIns
from tacit.server.console.templates_of import HEADERS, Templates
from tacit.server.lanes import Lanes
from tacit.server.token_policy import Role

PLACE = "/console"
"""The path at which the console is mounted, and to which its cookie is limited."""

CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"
LONGEST_FORM, LONGEST_OF_STRANGER, MOST_FIELDS = 2**18, 2**14, 1000
"""The most bytes of a form, of one of somebody who has not signed in, and fields."""

LONGEST_NEXT = 2000
MOST_DIGITS = 19
VISIT, BEGUN = "", "-begun"
"""The uses of cookies: a visit, or a sign-in at a provider that has begun."""
SAFE = frozenset({"GET", "HEAD"})
ROLES, ANYONE = "x-roles", "anyone"

View = Callable[["Visit"], Coroutine[Any, Any, Response]]


class NotSignedIn(Exception):
    """The request has no valid cookie, or its token is no longer valid."""


class ForeignForm(Exception):
    """The request that changes something was not sent by a page of the console."""


class Visit:
    """One request of a visitor who has signed in."""

    def __init__(self, request: Request, sign_in: SignIn, form: Mapping[str, str]) -> None:
        self.request = request
        self.sign_in = sign_in
        self.form = form
        """The fields of a form that was sent; of fields with one name, the last one."""
        self.query = request.query_params
        self._api: ASGIApp = request.app.state.api
        self._templates: Templates = request.app.state.templates
        self._read: dict[str, ApiAnswer] = {}
        """The answers of the API in this visit, so that nothing is read twice for a page."""

    @property
    def is_partial(self) -> bool:
        """Whether htmx asks for a part of a page, to be put into the one that is open."""
        return self.request.headers.get("hx-request") == "true"

    def has_role(self, *roles: Role) -> bool:
        """Return whether the visitor has one of these roles."""
        return self.sign_in.role in roles

    async def try_api(
        self, method: str, path: str, *names: str | int, **more: Any
    ) -> ApiAnswer:
        """Return the API's answer, also if it is an error.

        Each ``{}`` in the ``path`` stands for one of ``names``, which is escaped. ``more`` may
        hold a JSON ``body``, a ``query`` and ``headers``.
        """
        if "" in names:  # it would be the path of another route
            raise HTTPException(404)
        place = path_of(path, *names)
        known = self._read.get(place) if method == "GET" and not more else None
        if known is not None:
            return known
        answer = await call_api(
            self._api, method, place, self.sign_in.token, outer=self.request, **more
        )
        if method != "GET":
            self._read.clear()
        elif not more:
            self._read[place] = answer
        if answer.status == 401:  # noqa: PLR2004 - the token has ended or was revoked
            raise NotSignedIn
        return answer

    async def api(self, method: str, path: str, *names: str | int, **more: Any) -> Any:
        """Return the JSON that the API answered; raise `ApiRefused` if it is an error."""
        answer = await self.try_api(method, path, *names, **more)
        if answer.status >= 400:  # noqa: PLR2004 - an error of HTTP
            raise ApiRefused(answer)
        return answer.json if answer.body else None

    async def page(self, template: str, status: int = 200, **context: Any) -> Response:
        """Return the page or part of a page from ``template`` and the ``context``."""
        if not self.is_partial:
            context = {"budgets": await self._budgets(), **context}
        lanes: Lanes = self.request.app.state.api.state.lanes
        render = partial(
            self._templates.respond, template, status, sign_in=self.sign_in, **context
        )
        return await lanes.pages.run(render, who=self.sign_in.account or None)

    async def _budgets(self) -> list[dict[str, Any]]:
        """Return the budgets that the navigation shows on each page."""
        if not self.sign_in.token:
            return []
        answer = await self.try_api("GET", "/v1/status")
        found = answer.json["budgets"] if answer.status == 200 else []  # noqa: PLR2004
        return [each | {"share_spent": share_spent(each)} for each in found]

    def redirect(self, path: str) -> Response:
        """Return a response that opens another page of the console."""
        return redirect_to(self.request, PLACE + path)


def share_spent(budget: Mapping[str, Any]) -> float:
    """Return the share of a budget that is spent, from the fields of `GET /v1/status`.

    Example:
        >>> share_spent({"spent": {"amount": "1/8"}, "cap": {"amount": "0.5"}})
        0.25
    """
    cap = exact(budget["cap"]["amount"])
    return float(min(exact(budget["spent"]["amount"]) / cap, Fraction(1))) if cap else 1.0


def query_of(**named: str) -> str:
    """Return the query of an address of the console.

    Example:
        >>> query_of(population="a&b", done="quota")
        'population=a%26b&done=quota'
    """
    return urlencode(named, quote_via=quote)


def number_of(text: str) -> int | str | None:
    """Return a number that was typed, None for nothing, and else the text for the API.

    Example:
        >>> number_of(" 12 "), number_of(""), number_of("a dozen")
        (12, None, 'a dozen')
    """
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS:
        return int(text)
    return text or None


def redirect_to(request: Request, address: str) -> Response:
    """Return a response that opens ``address``, also where htmx sent the request."""
    if request.headers.get("hx-request") == "true":
        return Response(status_code=204, headers={**HEADERS, "HX-Redirect": address})
    return Response(status_code=303, headers={**HEADERS, "Location": address})


class ConsoleRoute(APIRoute):
    """A route of the console: a view for visitors of certain roles, or a page for anyone.

    Guarantee: a route that declares no role cannot be created. A view for visitors runs only
    for a valid cookie, and a view that changes something only for a form of this console.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        extra = dict(settings.get("openapi_extra") or {})
        if not extra.get(ROLES):
            raise InternalError(f"The page {path} does not declare which roles may open it.")
        self.roles: list[str] = extra[ROLES]
        self._view: View = endpoint
        super().__init__(path, _Unused.endpoint, **settings)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route."""
        view, roles, path = self._view, self.roles, self.path

        async def handle(request: Request) -> Response:
            request.scope.setdefault("tacit", {})["route"] = PLACE + path
            is_safe = request.method in SAFE
            if not is_safe:
                check_origin(request)
            if roles == [ANYONE]:
                form = await _form_of(request, LONGEST_OF_STRANGER)
                return await view(Visit(request, _nobody(), form))
            sign_ins: SignIns = request.app.state.sign_ins
            sign_in = sign_in_of(request)
            if sign_in is None:
                raise NotSignedIn
            form = await _form_of(request, LONGEST_FORM)
            given = request.headers.get(CSRF_HEADER) or form.get(CSRF_FIELD, "")
            if not is_safe and not is_same(given, sign_in.csrf):
                raise ForeignForm
            visit = Visit(request, sign_in, form)
            if sign_in.role not in roles:
                return await visit.page("wrong_role.html", 403, roles=roles)
            response = await view(visit)
            if (fresh := sign_ins.rotate(sign_in)) is not None:
                set_cookie(request, response, fresh)
            return response

        return handle


class _Unused:
    """The function that FastAPI inspects; a `ConsoleRoute` calls its view instead."""

    @staticmethod
    async def endpoint() -> None:
        """Do nothing."""


def console_router() -> APIRouter:
    """Return a router for views of the console."""
    return APIRouter(route_class=ConsoleRoute, include_in_schema=False)


def shown_to(*roles: Role) -> dict[str, Any]:
    """Return the settings of a page that these roles, or anyone, may open."""
    return {"openapi_extra": {ROLES: [role.value for role in roles] or [ANYONE]}}


def is_same(given: str, wanted: str) -> bool:
    """Return whether two secrets are the same, in a time that does not depend on them."""
    return bool(wanted) and hmac.compare_digest(given.encode(), wanted.encode())


def cookie_name(request: Request, what: str = VISIT) -> str:
    """Return the name of a cookie of the console.

    Over TLS its prefix makes browsers refuse it from any other host, also from a neighbouring
    one. Without TLS it has the port, because servers on one host share their cookies.
    """
    if is_secure(request):
        return f"__Host-tacit-console{what}"
    return f"tacit-console-{(request.scope.get('server') or ('', 0))[1]}{what}"


def sign_in_of(request: Request) -> SignIn | None:
    """Return the visit whose cookie came with ``request``, if it is valid now."""
    sign_ins: SignIns = request.app.state.sign_ins
    return sign_ins.find(request.cookies.get(cookie_name(request), ""))


def set_cookie(
    request: Request,
    response: Response,
    text: str,
    what: str = VISIT,
    seconds: int | None = None,
) -> None:
    """Give the browser a cookie, such as the id of its visit, for this server and no script.

    It lasts until the browser is closed, or for some ``seconds``.
    """
    response.set_cookie(
        cookie_name(request, what), text, max_age=seconds, **_cookie_rules(request)
    )


def drop_cookie(request: Request, response: Response, what: str = VISIT) -> None:
    """Let the browser forget a cookie."""
    response.delete_cookie(cookie_name(request, what), **_cookie_rules(request))


def _cookie_rules(request: Request) -> dict[str, Any]:
    secure = is_secure(request)
    # the prefix of the name demands the path / over TLS
    path = "/" if secure else PLACE
    return {"path": path, "httponly": True, "samesite": "lax", "secure": secure}


def is_secure(request: Request) -> bool:
    """Return whether the browser reached the console over TLS."""
    address: str | None = request.app.state.address
    return (address or str(request.base_url)).startswith("https://")


def check_origin(request: Request) -> None:
    """Raise `ForeignForm` if a page of another site sent this request."""
    site = request.headers.get("sec-fetch-site")
    if site not in {None, "same-origin", "none"}:
        raise ForeignForm
    origin, address = request.headers.get("origin"), request.app.state.address
    if origin is not None:
        given = urlsplit(origin)
        own = urlsplit(address or f"{given.scheme}://{request.headers.get('host', '')}")
        if (given.scheme, given.netloc) != (own.scheme, own.netloc) or not given.netloc:
            raise ForeignForm
    if origin is None and site is None:  # every browser sends one of them with a form
        raise ForeignForm


async def _form_of(request: Request, longest: int) -> dict[str, str]:
    """Return the fields of a form that was sent; it cannot contain files."""
    if request.method in SAFE:
        return {}
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise HTTPException(411)
    if int(length) > longest:
        raise HTTPException(413)
    try:
        text = (await request.body()).decode("utf-8", "replace")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise HTTPException(413) from None
    except ClientDisconnect:
        raise HTTPException(400) from None


def _nobody() -> SignIn:
    """Return what stands for the sign-in of a visitor who has not signed in."""
    return SignIn("", "", "", 0.0, 0.0, 0.0, csrf="")


def sign_in_address(request: Request, *, has_ended: bool) -> str:
    """Return the address of the page to sign in, which leads back to the page asked for."""
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if request.headers.get("hx-request") == "true":  # the address of the whole page
        _, _, path = request.headers.get("hx-current-url", "").partition("://")
        path = "/" + path.partition("/")[2]
    is_page = request.method in SAFE and path.startswith(f"{PLACE}/")
    after = path if is_page and len(path) <= LONGEST_NEXT else f"{PLACE}/"
    said = "&ended=1" if has_ended else ""
    return f"{PLACE}/sign-in?next={quote(after, safe='')}{said}"
