"""The retry policy of a client, and the mapping of a server's errors to exceptions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tacit import errors

LONGEST_PAUSE = 10.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts and retries of requests.

    ``reply`` is the timeout of one reply in seconds, ``tries`` the number of times that a
    request is sent, and ``pause`` the seconds before the first retry. Each pause is twice as
    long as the one before, up to 10 seconds.

    Example:
        >>> [RetryPolicy(pause=1.0).before(again) for again in range(1, 6)]
        [1.0, 2.0, 4.0, 8.0, 10.0]
    """

    reply: float = 300.0
    tries: int = 6
    pause: float = 0.25

    def __post_init__(self) -> None:
        if self.reply <= 0 or self.tries < 1 or self.pause < 0:
            raise errors.InvalidValue(
                "A retry policy needs reply > 0, tries >= 1 and pause >= 0, but "
                f"reply={self.reply}, tries={self.tries} and pause={self.pause} were given."
            )

    def before(self, again: int) -> float:
        """Return the seconds to wait before the ``again``-th retry."""
        return min(self.pause * 2.0 ** (again - 1), LONGEST_PAUSE)


# ------------------------------------------------------------------ errors of a server
# An error of the server is raised as the exception that a local session would raise.

PENDING = "answer_pending"
BY_STATUS: dict[int, type[errors.TacitError]] = {
    401: errors.NotPermitted,
    403: errors.NotPermitted,
    404: errors.UnknownName,
    429: errors.NotPermitted,
    503: errors.StoreFailed,
}
"""Exceptions for error codes that belong to none of our exceptions, by status."""

FIRST_OF_OURS = 500


def error_of(status: int, told: Any) -> errors.TacitError:
    """Return the exception for an error reply, with the server's text.

    Example:
        >>> error_of(402, {"error": {"code": "budget_exceeded", "message": "Too much."}})
        BudgetExceeded('Too much.')
    """
    error = told.get("error") if isinstance(told, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return errors.InternalError(
            f"The reply is not from a Tacit server (status {status}). Check the url."
        )
    kind = KINDS.get(str(error.get("code")))
    if kind is errors.AnswerLost:
        return errors.AnswerLost()
    if kind is errors.AnswerPending:
        return errors.AnswerPending(until=0)
    if kind is not None:
        return kind(error["message"])
    ours = errors.InternalError if status >= FIRST_OF_OURS else errors.InvalidValue
    return BY_STATUS.get(status, ours)(_full_text(error))


def is_pending(told: Any) -> bool:
    """Return whether an error reply says that the answer is still being computed."""
    return isinstance(told, dict) and _code(told) == PENDING


def _code(told: dict[str, Any]) -> Any:
    error = told.get("error")
    return error.get("code") if isinstance(error, dict) else None


def _full_text(error: dict[str, Any]) -> str:
    """Join what happened, what was given, what is allowed and what to do next."""
    given, allowed = error.get("given"), error.get("allowed")
    lines = [error["message"]]
    lines += [f"Given: {given}."] if given else []
    lines += [f"Allowed: {allowed}."] if allowed else []
    lines += [str(error["next"])] if error.get("next") else []
    return " ".join(lines)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _kinds(kind: type[errors.TacitError]) -> Iterator[type[errors.TacitError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


KINDS = {_snake(kind.__name__): kind for kind in _kinds(errors.TacitError)}
"""Our exceptions by their error codes in HTTP replies."""
