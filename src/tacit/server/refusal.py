"""Errors over HTTP: one JSON form for all of them, with public facts only.

`refusal_of` maps an exception to a status and a body. The text of an exception that is not ours
is never sent, because it may contain a value of the data.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi import Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from tacit import errors

OURS = "The server failed. A question that was charged stays charged."
SOON = {"Retry-After": "1"}
ALTERNATIVES = {"constrained-str", "str", "int", "float"}
"""How the places of errors name the types of a value that may have one of several."""


class Told(BaseModel):
    """An error: its code, what happened, what was given, what is allowed, what to do next."""

    code: str
    message: str
    given: str | None = None
    allowed: str | None = None
    next: str | None = None


class ErrorBody(BaseModel):
    """The body of every error response."""

    error: Told


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error response: its status, its body and its headers."""

    status: int
    told: Told
    headers: dict[str, str] = field(default_factory=dict)

    def response(self) -> Response:
        """Return the HTTP response."""
        body = ErrorBody(error=self.told).model_dump()
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        # a lone surrogate in a name that was sent is written as an escape of JSON
        sent = text.encode("utf-8", "backslashreplace")
        return Response(sent, self.status, self.headers, media_type="application/json")


class Refused(Exception):
    """The exception that ends a request with a given error response."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.told.message)
        self.refusal = refusal


KINDS: dict[type[errors.TacitError], tuple[int, str | None, dict[str, str]]] = {
    errors.UnknownName: (
        404,
        "See GET /v1/datasets for names, and the lists of requests and proposals for numbers.",
        {},
    ),
    errors.PopulationLocked: (
        423,
        "Tell an owner, who can POST /v1/ledger/{population}/look.",
        {},
    ),
    errors.EngineUnreachable: (
        503,
        "Send the same request again, with the same Idempotency-Key.",
        SOON,
    ),
    errors.ChargesFrozen: (
        423,
        "Tell an owner, who can POST /v1/ledger/{population}/thaw.",
        {},
    ),
    errors.DeclarationsChanged: (409, "Send the same request again.", SOON),
    errors.BudgetExceeded: (
        402,
        "See GET /v1/status for what is left of the budget and of your quotas.",
        {},
    ),
    errors.NotPermitted: (403, None, {}),
    errors.KeyReused: (409, "Send another Idempotency-Key with another question.", {}),
    errors.AnswerPending: (409, "Send the same request again.", SOON),
    errors.AnswerLost: (
        410,
        "Send another Idempotency-Key to be charged for a new answer.",
        {},
    ),
    errors.StoreFailed: (
        503,
        "Send the same request again, with the same Idempotency-Key.",
        SOON,
    ),
    errors.LedgerBroken: (500, "Tell an owner and an auditor.", {}),
    errors.MissingExtra: (501, "Tell an operator.", {}),
    errors.InvalidValue: (422, None, {}),
}
"""The status of each kind of error, what to do next, and headers. Others have status 500."""


def refusal_of(error: Exception) -> Refusal:
    """Return the error response for ``error``, without the text of an exception of others."""
    match error:
        case Refused():
            return error.refusal
        case RequestValidationError():
            return _invalid_request(error)
        case HTTPException():
            return _of_http(error)
    for kind, (status, after, headers) in KINDS.items():
        if isinstance(error, kind):
            return Refusal(
                status, Told(code=_code(error), message=str(error), next=after), headers
            )
    return Refusal(500, Told(code="internal_error", message=OURS, next="Tell an operator."))


def unknown_caller() -> Refusal:
    """Return the error for a missing, unknown, expired or revoked token: always the same."""
    told = Told(
        code="unauthenticated",
        message="This request needs a valid token.",
        allowed="Authorization: Bearer TOKEN",
        next="Ask an owner for a token.",
    )
    return Refusal(401, told, {"WWW-Authenticate": "Bearer"})


def wrong_role(given: str, allowed: list[str]) -> Refusal:
    """Return the error for a caller whose role may not call the route."""
    told = Told(
        code="not_permitted",
        message="The role of your token does not permit this.",
        given=given,
        allowed=", ".join(allowed),
        next="Ask an owner for a token of another role.",
    )
    return Refusal(403, told)


def _code(error: errors.TacitError) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()


def _invalid_request(error: RequestValidationError) -> Refusal:
    """Return the error for an invalid request, with the fields and the rules, but no values."""
    broken: dict[str, list[str]] = {}
    for each in error.errors():
        place = ".".join(str(part) for part in each["loc"] if part not in ALTERNATIVES)
        broken.setdefault(place, []).append(_rule_of(each))
    told = Told(
        code="invalid_request",
        message="The request does not match the schema of this route.",
        given="; ".join(broken),
        allowed="; ".join(f"{place} {' or '.join(rules)}" for place, rules in broken.items()),
        next="See GET /openapi.json.",
    )
    return Refusal(422, told)


def _rule_of(broken: Mapping[str, Any]) -> str:
    """Return what a field of a request must be, in the words of this project."""
    match broken["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden":
            return "is not a field of this request"
        case "json_invalid":
            return "must be valid JSON"
        case "model_attributes_type" | "dict_type":
            return "must be a JSON object"
    # "Input should be a valid string": what comes after "should" is a rule without a value
    _, found, rule = broken["msg"].partition(" should ")
    return f"must {rule}" if found else f"is refused: {broken['msg']}"


def _of_http(error: HTTPException) -> Refusal:
    phrase = HTTPStatus(error.status_code).phrase
    told = Told(
        code=phrase.lower().replace(" ", "_"),
        message=f"{phrase}.",
        allowed=(error.headers or {}).get("Allow"),
        next="See GET /openapi.json for all routes.",
    )
    return Refusal(error.status_code, told, dict(error.headers or {}))
