"""A paid request to a server, and the answer that it gives."""

import json
from typing import Any, Protocol

from tacit.core.answer import Answer
from tacit.core.stored_release import decode
from tacit.core.stored_standing import decode as decode_standing
from tacit.errors import InvalidValue, KeyReused


class Line(Protocol):
    """What a question is sent over."""

    def post(self, path: str, body: dict[str, Any], key: str | None = None) -> Any:
        """What a server answers."""
        ...


def paid(
    wire: Line, path: str, body: dict[str, Any], request: str | None, usual: str
) -> Answer:
    """The answer to ``body``, under the name of the ``request``, or its ``usual`` one.

    Guarantee: however often it is sent, it is charged once.
    """
    try:
        told = wire.post(path, body, usual if request is None else request)
    except KeyReused:
        if request is not None:
            raise
        raise KeyReused(
            "This was asked before owners declared something else, such as another epoch; "
            "connect again, and it is asked about what there is now."
        ) from None
    try:
        release = decode(json.dumps(told["release"]).encode())
        standing = decode_standing(told["standing"])
        return Answer.of(release, standing, bytes.fromhex(told["release_key"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue("What the server told is no answer.") from error
