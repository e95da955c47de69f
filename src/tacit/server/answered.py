"""An answer as the caller wants it: JSON for people, exact values for our client, or Arrow."""

import json
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from tacit.core.answer import Answer
from tacit.core.release import Release
from tacit.core.stored_release import encode
from tacit.core.stored_standing import encode as encode_standing
from tacit.extras import installed, load
from tacit.server.refusal import Refusal, Refused, Told

PLAIN = "application/json"
EXACT = "application/vnd.tacit.release+json"
ARROW = "application/vnd.apache.arrow.stream"
ANY = ("*/*", "application/*", "")


def wanted(request: Request) -> str:
    """The first type of those accepted that we have; found before anything is charged."""
    known = [PLAIN, EXACT] + ([ARROW] if installed("arrow") else [])
    for given in request.headers.get("accept", "").split(","):
        name = given.partition(";")[0].strip().lower()
        if name in known or name in ANY:
            return PLAIN if name in ANY else name
    told = Told(
        code="not_acceptable",
        message="There is no answer of the type that you accept.",
        allowed=", ".join(known),
        next="Send another Accept header.",
    )
    raise Refused(Refusal(406, told))


def answered(release: Release, kind: str) -> Response:
    """The response that holds ``release`` as ``kind``, and where the budget stands."""
    beside: dict[str, Any] = {}
    if isinstance(release, Answer):
        beside["release_key"] = release.release_key.hex()
        beside["standing"] = encode_standing(release.standing)
    if kind == ARROW:
        return Response(_arrow(release, beside), media_type=ARROW)
    if kind == EXACT:
        return JSONResponse(
            {"release": json.loads(encode(release)), **beside}, media_type=EXACT
        )
    return JSONResponse(release.to_dict() | beside)


def _arrow(release: Release, beside: dict[str, Any]) -> bytes:
    told = {name: part for name, part in release.to_dict().items() if name != "columns"}
    table = release.to_arrow().replace_schema_metadata({"tacit": json.dumps(told | beside)})
    sink = load("pyarrow", extra="arrow").BufferOutputStream()
    with load("pyarrow.ipc", extra="arrow").new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream
