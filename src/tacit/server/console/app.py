"""The application of the console: its pages, its files, and what it says when it refuses."""

import gzip
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from tacit.server.console.api_calls import ApiAnswer, ApiRefused
from tacit.server.console.code_flow import CodeFlow
from tacit.server.console.entry_links import EntryLinks
from tacit.server.console.sign_ins import SignIns
from tacit.server.console.templates_of import HEADERS, Templates, static_file, static_names
from tacit.server.console.views import all_routers
from tacit.server.console.visit import (
    PLACE,
    ForeignForm,
    NotSignedIn,
    cookie_name,
    drop_cookie,
    redirect_to,
    sign_in_address,
    sign_in_of,
)
from tacit.server.lanes import Lanes
from tacit.server.refusal import Refused

KINDS = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
    "json": "application/json",
}
FAILED = {
    "code": "failed",
    "message": "The page could not be made.",
    "next": "Open it again. A question that was charged stays charged, and its answer is free.",
}


OF_HTTP = {
    400: ("The request could not be read.", "Open the page again."),
    404: ("There is no such page.", "Use the menu."),
    405: ("This page cannot be asked for in this way.", "Open it from the menu."),
    411: ("The form did not say how long it is.", "Send it from its page."),
    413: ("The form is too long. Nothing was changed.", "Send a shorter text."),
}


def console_app(
    api: FastAPI, address: str | None = None, flow: CodeFlow | None = None
) -> FastAPI:
    """Return the console over the application ``api``, to be mounted at ``/console``.

    ``address`` is how browsers reach the server, such as ``https://tacit.example``. Without it,
    the address of each request is taken. With a ``flow``, people can sign in at their provider.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.api = api
    app.state.address = address
    app.state.flow = flow
    app.state.sign_ins = SignIns()
    app.state.entry_links = EntryLinks()
    app.state.templates = Templates()
    app.state.policy_reports = 0
    handlers: dict[type[Exception], Callable[[Request, Any], Any]] = {
        NotSignedIn: _to_sign_in,
        ForeignForm: _foreign,
        ApiRefused: _show_refusal,
        Refused: _busy,
        HTTPException: _of_http,
        Exception: _show_failure,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
    for router in all_routers():
        app.include_router(router)

    @app.get("/static/{name}")
    async def static(name: str, request: Request) -> Response:
        """Return a file of the console."""
        request.scope.setdefault("tacit", {})["route"] = f"{PLACE}/static"
        if name not in static_names():  # before anything is stored under this name
            raise HTTPException(404)
        lanes: Lanes = api.state.lanes
        found = await lanes.pages.run(lambda: _compress(name))
        return _static(name, found, request)

    @app.post("/policy-reports")
    async def policy_report(request: Request) -> Response:
        """Count that a page broke its policy; what the report says is not read."""
        request.scope.setdefault("tacit", {})["route"] = f"{PLACE}/policy-reports"
        app.state.policy_reports += 1
        return Response(status_code=204)

    return app


async def _to_sign_in(request: Request, _: NotSignedIn) -> Response:
    """Open the page to sign in; a visit whose token is no longer valid ends."""
    sign_ins: SignIns = request.app.state.sign_ins
    if (sign_in := sign_in_of(request)) is not None:
        sign_ins.end(sign_in)
    has_ended = cookie_name(request) in request.cookies
    response = redirect_to(request, sign_in_address(request, has_ended=has_ended))
    drop_cookie(request, response)
    return response


async def _foreign(request: Request, _: ForeignForm) -> Response:
    error = {
        "code": "foreign_form",
        "message": "This form was not sent by a page of the console that is still valid.",
        "next": "Open the page again, and send the form once more. Nothing was changed.",
    }
    return _error_page(request, 403, error)


async def _show_refusal(request: Request, refused: ApiRefused) -> Response:
    return _error_page(request, refused.status, refused.error, wait=refused.wait_seconds)


async def _busy(request: Request, refused: Refused) -> Response:
    """Say that the server itself has no thread for this page."""
    answer = refused.refusal.response()
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return await _show_refusal(
        request, ApiRefused(ApiAnswer(answer.status_code, headers, bytes(answer.body)))
    )


async def _of_http(request: Request, error: HTTPException) -> Response:
    message, after = OF_HTTP.get(error.status_code, OF_HTTP[400])
    said = {"code": "bad_request", "message": message, "next": after}
    response = _error_page(request, error.status_code, said)
    response.headers.update(error.headers or {})
    return response


async def _show_failure(request: Request, _: Exception) -> Response:
    return _error_page(request, 500, FAILED)


def _error_page(
    request: Request, status: int, error: dict[str, Any], wait: int | None = None
) -> Response:
    templates: Templates = request.app.state.templates
    sign_in = sign_in_of(request)
    is_partial = request.headers.get("hx-request") == "true"
    name = "parts/refusal.html" if is_partial else "refusal.html"
    response = templates.respond(name, status, sign_in=sign_in, error=error, wait=wait)
    if wait is not None:
        response.headers["Retry-After"] = str(wait)
    return response


@cache
def _compress(name: str) -> tuple[bytes, bytes, str]:
    """Return a file, compressed too, and the tag of its content."""
    content = static_file(name)
    return content, gzip.compress(content, 9, mtime=0), f'"{sha256(content).hexdigest()[:32]}"'


def _static(name: str, found: tuple[bytes, bytes, str], request: Request) -> Response:
    """Return a file of the console; browsers ask again whether it has changed."""
    kind = KINDS[name.rpartition(".")[2]]
    content, small, tag = found
    headers = {**HEADERS, "Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(small, headers={**headers, "Content-Encoding": "gzip"}, media_type=kind)
    return Response(content, headers=headers, media_type=kind)
