"""Routes that are closed unless they say for whom they are open."""

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
"""Where a route, and so the OpenAPI file, says for whom it is."""

ANYONE = "anyone"

LONGEST_BODY = 2**18
"""Bytes of a request's body."""

PAID_AT_ONCE = 40
"""Questions and fits that are waited for in threads; others wait without one."""

_paid: RunVar[CapacityLimiter] = RunVar("_paid")
Made = TypeVar("Made")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GuardedRoute(APIRoute):
    """A route that looks at the caller before it reads anything else of the request.

    Guarantee: one that names no role cannot be made.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        extra = settings.get("openapi_extra") or {}
        if not extra.get(ROLES):
            raise InternalError(f"The route {path} does not say for whom it is.")
        self.roles: list[str] = extra[ROLES]
        super().__init__(path, endpoint, **settings)

    def get_route_handler(self) -> Handler:
        """The handler, behind the guard."""
        inner, roles, path = super().get_route_handler(), self.roles, self.path

        async def guarded(request: Request) -> Response:
            watched(request)["route"] = path
            if roles != [ANYONE]:
                await _admit(request, roles)
            _check_size(request)
            return await inner(request)

        return guarded


def open_to(*roles: Role) -> dict[str, Any]:
    """What a route is made with: for whom it is, and how it refuses."""
    named = [role.value for role in roles] or [ANYONE]
    return {
        "openapi_extra": {ROLES: named} | ({"security": [{"token": []}]} if roles else {}),
        "responses": {"default": {"model": ErrorBody, "description": "What is refused"}},
    }


async def run_paid(work: Callable[[], Made]) -> Made:
    """Run paid ``work`` in a thread, apart from those of all other routes.

    However many questions one analyst has waiting, an owner's freeze and a look at the
    server's health have threads of their own.
    """
    try:
        limiter = _paid.get()
    except LookupError:
        limiter = CapacityLimiter(PAID_AT_ONCE)
        _paid.set(limiter)
    return await to_thread.run_sync(work, limiter=limiter)


def new_router() -> APIRouter:
    """A router all of whose routes are guarded."""
    return APIRouter(route_class=GuardedRoute)


def watched(request: Request) -> dict[str, Any]:
    """What the log will tell of a request: never a part of its question."""
    found: dict[str, Any] = request.scope.setdefault("tacit", {})
    return found


async def _admit(request: Request, roles: list[str]) -> None:
    given = request.headers.get("authorization", "")
    caller: Caller = await run_in_threadpool(request.app.state.gate.caller, given)
    watched(request)["principal"] = caller.principal
    if caller.role not in roles:
        raise Refused(wrong_role(caller.role, roles))
    request.app.state.rate.check(caller.principal)  # before anything is read or planned
    request.state.caller = caller


def _check_size(request: Request) -> None:
    """Refuse a body that is too long, by what it says of itself, which the server holds to."""
    if "transfer-encoding" in request.headers:
        raise Refused(_too_long(411, "length_required", "A body says how long it is."))
    if int(request.headers.get("content-length", "0")) > LONGEST_BODY:
        raise Refused(_too_long(413, "content_too_large", "The body is too long."))


def _too_long(status: int, code: str, message: str) -> Refusal:
    allowed = f"Content-Length up to {LONGEST_BODY}"
    return Refusal(status, Told(code=code, message=message, allowed=allowed))
