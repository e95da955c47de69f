"""Routes that authenticate the caller before they read anything else of the request.

Every route must declare the roles that may call it; a route without roles cannot be created.
For each request the guard identifies the caller by the token, checks the role and the rate
limit, and checks the size of the body. Only then is the body read.
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from tacit.errors import InternalError
from tacit.server.identity import Caller
from tacit.server.refusal import ErrorBody, Refusal, Refused, Told, wrong_role
from tacit.server.token_policy import Role

ROLES = "x-roles"
"""The key under which a route, and the OpenAPI file, lists the roles that may call it."""

ANYONE = "anyone"

LONGEST_BODY = 2**18
"""Largest size of a request's body, in bytes."""

PAID_AT_ONCE = 40
"""Number of threads for questions and fits; more of them wait without a thread."""

_paid: RunVar[CapacityLimiter] = RunVar("_paid")
Made = TypeVar("Made")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GuardedRoute(APIRoute):
    """A route that authenticates the caller before it reads anything else of the request.

    Guarantee: a route that declares no role cannot be created.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        extra = settings.get("openapi_extra") or {}
        if not extra.get(ROLES):
            raise InternalError(f"The route {path} does not declare which roles may call it.")
        self.roles: list[str] = extra[ROLES]
        super().__init__(path, endpoint, **settings)

    def get_route_handler(self) -> Handler:
        """Return the handler of the route, with the guard before it."""
        inner, roles, path = super().get_route_handler(), self.roles, self.path

        async def handle(request: Request) -> Response:
            log_fields(request)["route"] = path
            if roles != [ANYONE]:
                await _admit(request, roles)
            _check_size(request)
            return await inner(request)

        return handle


def open_to(*roles: Role) -> dict[str, Any]:
    """Return the settings of a route that these roles, or anyone, may call."""
    named = [role.value for role in roles] or [ANYONE]
    return {
        "openapi_extra": {ROLES: named} | ({"security": [{"token": []}]} if roles else {}),
        "responses": {"default": {"model": ErrorBody, "description": "An error"}},
    }


async def run_paid(work: Callable[[], Made]) -> Made:
    """Run charged ``work`` in a thread of a pool that no other route uses.

    However many questions one analyst has waiting, an owner's freeze and a health check still
    find a free thread.
    """
    try:
        limiter = _paid.get()
    except LookupError:
        limiter = CapacityLimiter(PAID_AT_ONCE)
        _paid.set(limiter)
    return await to_thread.run_sync(work, limiter=limiter)


def new_router() -> APIRouter:
    """Return a router whose routes are all guarded."""
    return APIRouter(route_class=GuardedRoute)


def log_fields(request: Request) -> dict[str, Any]:
    """Return the facts about a request that will be logged: never a part of its question."""
    found: dict[str, Any] = request.scope.setdefault("tacit", {})
    return found


async def _admit(request: Request, roles: list[str]) -> None:
    given = request.headers.get("authorization", "")
    caller: Caller = await run_in_threadpool(request.app.state.gate.caller, given)
    log_fields(request)["principal"] = caller.principal
    if caller.role not in roles:
        raise Refused(wrong_role(caller.role, roles))
    request.app.state.rate.check(caller.principal)  # before anything is read or planned
    request.state.caller = caller


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


def _too_long(status: int, code: str, message: str) -> Refusal:
    allowed = f"Content-Length up to {LONGEST_BODY}"
    return Refusal(status, Told(code=code, message=message, allowed=allowed))
