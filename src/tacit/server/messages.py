"""What routes are given: the caller, their session, and the bodies that they may send."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt

from tacit.core import Answer, Release, encode_release, encode_standing
from tacit.extras import installed, load
from tacit.ledger import LONGEST_NAME
from tacit.numeric import LONGEST_TEXT, exact
from tacit.project import Allowance
from tacit.query import MOST_SIZES, SIZES
from tacit.server.current_curator import Current
from tacit.server.identity import Caller
from tacit.server.refusal import Refusal, Refused, Told
from tacit.server.token_policy import Role, TokenScope
from tacit.session import Curator, Session

LONGEST_SQL = 100_000
"""Characters of a question."""

Amount = Annotated[str, Field(max_length=LONGEST_TEXT)] | StrictInt | StrictFloat
"""A number, exactly where it is written as text: "0.1", "1/3", "1e-6"."""


async def caller_of(request: Request) -> Caller:
    """Who calls, as the guard found."""
    caller: Caller = request.state.caller
    return caller


async def curator_of(request: Request) -> AsyncIterator[Curator]:
    """The curator of all tables, whoever calls; it stays open until the answer has left."""
    current: Current = request.app.state.current
    with current.taken() as curator:
        yield curator


async def now_of(request: Request) -> int:
    """The server's time, in milliseconds since 1970."""
    now: int = request.app.state.clock()
    return now


Calling = Annotated[Caller, Depends(caller_of)]
AllTables = Annotated[Curator, Depends(curator_of)]


async def session_of(caller: Calling, curator: AllTables) -> Session:
    """The session of the caller: the one door, within their scope."""
    catalog = caller.scope.of_catalog(curator.catalog)
    return Session(curator.asked_by(caller.principal, catalog))


Clocked = Annotated[int, Depends(now_of)]
Door = Annotated[Session, Depends(session_of)]
RequestKey = Annotated[
    str | None, Header(alias="Idempotency-Key", min_length=1, max_length=LONGEST_NAME)
]


class Sent(BaseModel):
    """A body: what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class QuestionBody(Sent):
    """A question in SQL."""

    sql: Annotated[str, Field(max_length=LONGEST_SQL)]


class PricedQuestion(QuestionBody):
    """A question, and what it may lose: an epsilon or a rho; a delta where keys are secret."""

    epsilon: Amount | None = None
    rho: Amount | None = None
    delta: Amount = 0


class QuotedQuestion(PricedQuestion):
    """A question to be quoted, and for how many rows of a group its errors are told."""

    assume_size: Annotated[list[StrictInt], Field(min_length=1, max_length=MOST_SIZES)] = list(
        SIZES
    )


class Most(Sent):
    """The most that a question may lose."""

    epsilon: Amount | None = None
    rho: Amount | None = None
    delta: Amount = 0


class NewToken(Sent):
    """For whom a token is, in which role, how far it reaches, and for how long."""

    principal: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    role: Role
    datasets: list[str] | None = None
    most: Most | None = None
    days: Annotated[StrictInt, Field(ge=1, le=3650)] = 30


def scope_of(given: NewToken) -> TokenScope:
    """How far a new token reaches."""
    names = None if given.datasets is None else tuple(given.datasets)
    if given.most is None:
        return TokenScope(names)
    most = given.most
    epsilon, rho = (None if each is None else exact(each) for each in (most.epsilon, most.rho))
    return TokenScope(names, Allowance(epsilon, rho, exact(most.delta)))


# ------------------------------------------------------------------ answered
# An answer as the caller wants it: JSON for people, exact values for our client, or Arrow.

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
            {"release": json.loads(encode_release(release)), **beside}, media_type=EXACT
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
