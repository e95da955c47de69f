"""Routes that authenticate the caller before they read anything else of the request.

Every route must declare the roles that may call it; a route without roles cannot be created.
For each request the guard identifies the caller by the token, checks the rate limit and the
role, and checks the size of the body. Only then is the body read. If the request then waits
for more than a second, its token is checked again before anything is done.

A route that is a plain function runs in a thread of its lane (`tacit.server.lanes`), so that it
can read the store. A coroutine runs on the event loop, and must not wait for anything there.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import wraps
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from tacit.errors import InternalError
from tacit.server.identity import Gate, KeysWanted, WaitingCaller
from tacit.server.lanes import TOKEN_SECONDS, Lane, Lanes
from tacit.server.refusal import ErrorBody, Refusal, Refused, Told, wrong_role
from tacit.server.token_policy import Role

ROLES = "x-roles"
"""The key under which a route, and the OpenAPI file, lists the roles that may call it."""

ANYONE = "anyone"

LONGEST_BODY = 2**18
"""Largest size of a request's body, in bytes."""

MOST_FIELDS, FIELD = 1000, re.compile(rb'"\s*:')
"""The most fields of a body, in all of its objects, and the end of a field's name in JSON."""

LANE = "x-lane"
"""The key under which a route names its lane; it is not a part of the OpenAPI file."""

KEYS_LOOKS, KEYS_PAUSE = 20, 0.1
"""How often a request looks for new keys of an identity provider, and the seconds between."""

_lanes: ContextVar[tuple[Lanes, WaitingCaller | None]] = ContextVar("_lanes")
"""The lanes of the server that handles the present request, and who sent it, if known."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GuardedRoute(APIRoute):
    """A route that authenticates the caller before it reads anything else of the request.

    Guarantee: a route that declares no role cannot be created.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        extra = dict(settings.get("openapi_extra") or {})
        if not extra.get(ROLES):
            raise InternalError(f"The route {path} does not declare which roles may call it.")
        self.roles: list[str] = extra[ROLES]
        owned = self.roles == [Role.OWNER.value]
        lane = extra.pop(LANE, "owners" if owned else "free")
        if not asyncio.iscoroutinefunction(endpoint):
            endpoint = _in_lane(endpoint, lane)
        super().__init__(path, endpoint, **{**settings, "openapi_extra": extra})

    def get_route_handler(self) -> Handler:
        """Return the handler of the route, with the guard before it."""
        inner, roles, path = super().get_route_handler(), self.roles, self.path

        async def handle(request: Request) -> Response:
            log_fields(request)["route"] = path
            caller = None if roles == [ANYONE] else await _admit(request, roles)
            _lanes.set((request.app.state.lanes, caller))
            _check_size(request)
            await _check_fields(request)
            return await inner(request)

        return handle


def open_to(*roles: Role, lane: str | None = None) -> dict[str, Any]:
    """Return the settings of a route that these roles, or anyone, may call.

    A route that is a plain function runs in the lane with this name. Without one, it runs in
    the lane of owners if only they may call it, and in the lane of free requests otherwise.
    """
    named = [role.value for role in roles] or [ANYONE]
    extra: dict[str, Any] = {ROLES: named} | ({"security": [{"token": []}]} if roles else {})
    return {
        "openapi_extra": extra | ({} if lane is None else {LANE: lane}),
        "responses": {"default": {"model": ErrorBody, "description": "An error"}},
    }


def _in_lane(endpoint: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a coroutine function that runs ``endpoint`` in the lane with this name."""

    @wraps(endpoint)
    async def run(*given: Any, **named: Any) -> Any:
        lanes, caller = _lanes.get()
        lane: Lane = getattr(lanes, name)
        if caller is None:
            return await lane.run(lambda: endpoint(*given, **named))

        def check_and_run() -> Any:
            caller.check()  # the token may have been revoked while the request waited
            return endpoint(*given, **named)

        return await lane.run(check_and_run, who=caller.account)

    return run


def new_router() -> APIRouter:
    """Return a router whose routes are all guarded."""
    return APIRouter(route_class=GuardedRoute)


def log_fields(request: Request) -> dict[str, Any]:
    """Return the facts about a request that will be logged: never a part of its question."""
    found: dict[str, Any] = request.scope.setdefault("tacit", {})
    return found


async def _admit(request: Request, roles: list[str]) -> WaitingCaller:
    """Return the caller; raise `Refused` if there is none, or their role may not do this."""
    given = request.headers.get("authorization", "")
    lanes: Lanes = request.app.state.lanes
    gate: Gate = request.app.state.gate
    fetches = gate.fetches()
    try:
        caller = await lanes.tokens.run(lambda: gate.caller(given, last=False), TOKEN_SECONDS)
    except KeysWanted:
        for _ in range(KEYS_LOOKS):  # without a thread, however many wait
            await asyncio.sleep(KEYS_PAUSE)
            if gate.fetches() > fetches:
                break
        caller = await lanes.tokens.run(lambda: gate.caller(given), TOKEN_SECONDS)
    log_fields(request)["principal"] = caller.principal
    if not log_fields(request).get("is_counted", False):  # as a part of a page of the console
        request.app.state.rate.check(caller.account)  # before anything is read or planned
    if caller.role not in roles:
        raise Refused(wrong_role(caller.role, roles))
    request.state.caller = caller
    waiting = request.state.waiting = WaitingCaller(caller, lambda: gate.caller(given))
    return waiting


def _check_size(request: Request) -> None:
    """Refuse a body whose Content-Length is missing or too large.

    The header can be trusted, because the HTTP parser reads no more bytes than it says.
    """
    if "transfer-encoding" in request.headers:
        raise Refused(
            _too_long(411, "length_required", "A body must have a Content-Length header.")
        )
    if int(request.headers.get("content-length", "0")) > LONGEST_BODY:
        raise Refused(_too_long(413, "content_too_large", "The body is too large."))


async def _check_fields(request: Request) -> None:
    """Refuse a body with very many fields, or in another encoding than UTF-8.

    Each unknown field is an error of its own, and all of them are found on the event loop. In
    another encoding, which a JSON parser recognises by its NUL bytes, `FIELD` would find none.
    """
    try:
        body = await request.body()
    except ClientDisconnect:
        told = Told(code="bad_request", message="The body did not arrive.")
        raise Refused(Refusal(400, told)) from None
    if b"\0" in body:
        told = Told(
            code="bad_request",
            message="The body is not JSON in UTF-8.",
            next="Send the body in UTF-8, and write the character NUL as \\u0000.",
        )
        raise Refused(Refusal(400, told))
    if len(FIELD.findall(body)) > MOST_FIELDS:
        allowed = f"{MOST_FIELDS} fields at most"
        told = Told(
            code="content_too_large", message="The body has too many fields.", allowed=allowed
        )
        raise Refused(Refusal(413, told))


def _too_long(status: int, code: str, message: str) -> Refusal:
    allowed = f"Content-Length up to {LONGEST_BODY}"
    return Refusal(status, Told(code=code, message=message, allowed=allowed))
