"""What a server refuses, as the error that a session on the same machine would raise."""

import re
from collections.abc import Iterator
from typing import Any

from tacit.errors import (
    AnswerLost,
    AnswerPending,
    InternalError,
    InvalidValue,
    NotPermitted,
    StoreFailed,
    TacitError,
    UnknownName,
)

PENDING = "answer_pending"
BY_STATUS: dict[int, type[TacitError]] = {
    401: NotPermitted,
    403: NotPermitted,
    404: UnknownName,
    429: StoreFailed,
    503: StoreFailed,
}
"""What is raised for a code that no error of ours has."""

FIRST_OF_OURS = 500


def error_of(status: int, told: Any) -> TacitError:
    """The error that a reply tells of; its text is the server's.

    Example:
        >>> error_of(402, {"error": {"code": "budget_exceeded", "message": "Too much."}})
        BudgetExceeded('Too much.')
    """
    error = told.get("error") if isinstance(told, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return InternalError(
            f"Who answers there does not speak as a Tacit server does (status {status}); look "
            "at the url."
        )
    kind = KINDS.get(str(error.get("code")))
    if kind is AnswerLost:
        return AnswerLost()
    if kind is AnswerPending:
        return AnswerPending(until=0)
    if kind is not None:
        return kind(error["message"])
    ours = InternalError if status >= FIRST_OF_OURS else InvalidValue
    return BY_STATUS.get(status, ours)(_whole(error))


def is_pending(told: Any) -> bool:
    """Whether the answer is still being made."""
    return isinstance(told, dict) and _code(told) == PENDING


def _code(told: dict[str, Any]) -> Any:
    error = told.get("error")
    return error.get("code") if isinstance(error, dict) else None


def _whole(error: dict[str, Any]) -> str:
    """All that is told: what was wrong, what was given, what is allowed, what to do next."""
    given, allowed = error.get("given"), error.get("allowed")
    lines = [error["message"]]
    lines += [f"Given: {given}."] if given else []
    lines += [f"Allowed: {allowed}."] if allowed else []
    lines += [str(error["next"])] if error.get("next") else []
    return " ".join(lines)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _kinds(kind: type[TacitError]) -> Iterator[type[TacitError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


KINDS = {_snake(kind.__name__): kind for kind in _kinds(TacitError)}
"""Our errors by the codes that they have on the wire."""
