"""How long an answer is waited for, and how often a request is sent again."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tacit import errors

LONGEST_PAUSE = 10.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds for one reply, how often to send a request, and the first pause between.

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
                f"A reply is waited for, once or more: reply={self.reply}, tries={self.tries} "
                f"and pause={self.pause} were given."
            )

    def before(self, again: int) -> float:
        """Seconds to wait before a request is sent for the ``again``-th time more."""
        return min(self.pause * 2.0 ** (again - 1), LONGEST_PAUSE)


# ------------------------------------------------------------------ refusal
# What a server refuses, as the error that a session on the same machine would raise.

PENDING = "answer_pending"
BY_STATUS: dict[int, type[errors.TacitError]] = {
    401: errors.NotPermitted,
    403: errors.NotPermitted,
    404: errors.UnknownName,
    429: errors.NotPermitted,
    503: errors.StoreFailed,
}
"""What is raised for a code that no error of ours has."""

FIRST_OF_OURS = 500


def error_of(status: int, told: Any) -> errors.TacitError:
    """The error that a reply tells of; its text is the server's.

    Example:
        >>> error_of(402, {"error": {"code": "budget_exceeded", "message": "Too much."}})
        BudgetExceeded('Too much.')
    """
    error = told.get("error") if isinstance(told, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return errors.InternalError(
            f"Who answers there does not speak as a Tacit server does (status {status}); look "
            "at the url."
        )
    kind = KINDS.get(str(error.get("code")))
    if kind is errors.AnswerLost:
        return errors.AnswerLost()
    if kind is errors.AnswerPending:
        return errors.AnswerPending(until=0)
    if kind is not None:
        return kind(error["message"])
    ours = errors.InternalError if status >= FIRST_OF_OURS else errors.InvalidValue
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


def _kinds(kind: type[errors.TacitError]) -> Iterator[type[errors.TacitError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


KINDS = {_snake(kind.__name__): kind for kind in _kinds(errors.TacitError)}
"""Our errors by the codes that they have on the wire."""
