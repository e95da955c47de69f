"""Request models, dependencies of routes, and the formats of answers.

Routes receive the caller, the caller's session and a validated body by FastAPI's dependency
injection. An answer is written as plain JSON for people, as JSON with exact values for our own
client, or as an Arrow stream, depending on the Accept header.
"""

import json
from collections.abc import AsyncIterator
from functools import cache
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt

from tacit.core import Answer, Release, encode_budget_summary, encode_release
from tacit.extras import is_installed, load
from tacit.ledger import LONGEST_NAME, ActSigner
from tacit.numeric import LONGEST_TEXT, exact
from tacit.project import Allowance
from tacit.query import MOST_SIZES
from tacit.server.current_curator import Current
from tacit.server.identity import Caller
from tacit.server.refusal import Refusal, Refused, Told
from tacit.server.token_policy import Role, TokenScope
from tacit.session import Curator, Session
from tacit.store import SigningKey

LONGEST_SQL = 100_000
"""Largest number of characters in a question."""

MOST_DATASETS = 1000
"""Largest number of datasets that a token names."""

Amount = Annotated[str, Field(max_length=LONGEST_TEXT)] | StrictInt | StrictFloat
"""A number. Written as text it is exact: "0.1", "1/3", "1e-6"."""


async def caller_of(request: Request) -> Caller:
    """Return the caller, whom the guard has authenticated."""
    caller: Caller = request.state.caller
    return caller


async def curator_of(request: Request) -> AsyncIterator[Curator]:
    """Yield the curator of all tables, which stays open until the response is sent."""
    current: Current = request.app.state.current
    with current.borrow() as curator:
        yield curator


async def now_of(request: Request) -> int:
    """Return the server's time in milliseconds since 1970."""
    now: int = request.app.state.clock()
    return now


Calling = Annotated[Caller, Depends(caller_of)]
AllTables = Annotated[Curator, Depends(curator_of)]


async def session_of(request: Request, caller: Calling, curator: AllTables) -> Session:
    """Return a session for the caller, limited to the datasets in the token's scope.

    The acts of an owner who came by the identity provider are signed by this installation.
    """
    catalog = caller.scope.of_catalog(curator.catalog)
    asking = curator.asked_by(caller.principal, catalog)
    signer = signer_of(request, caller)
    return Session(asking if signer is None else asking.signed_by(signer))


def signer_of(request: Request, caller: Caller) -> ActSigner | None:
    """Return what signs the acts of an owner who came by the identity provider, or None."""
    installation: SigningKey | None = getattr(request.app.state, "installation", None)
    if installation is None or not caller.sign_in or caller.role is not Role.OWNER:
        return None
    return ActSigner(installation, caller.sign_in)


Clocked = Annotated[int, Depends(now_of)]
Door = Annotated[Session, Depends(session_of)]
RequestKey = Annotated[
    str | None, Header(alias="Idempotency-Key", min_length=1, max_length=LONGEST_NAME)
]


class Sent(BaseModel):
    """The base of all request bodies, which refuses unknown fields."""

    model_config = ConfigDict(extra="forbid")


class QuestionBody(Sent):
    """A question in SQL."""

    sql: Annotated[str, Field(max_length=LONGEST_SQL)]


class PricedQuestion(QuestionBody):
    """A question and its privacy loss: an epsilon or a rho, and a delta for private keys."""

    epsilon: Amount | None = None
    rho: Amount | None = None
    delta: Amount = 0
    within: Amount | None = None
    """The margin of error to stay within, instead of an amount: 25, or "2%"."""
    assume_size: (
        Annotated[list[StrictInt], Field(min_length=1, max_length=MOST_SIZES)] | None
    ) = None
    """The group sizes for which errors are reported, and of which a share is taken."""

    @property
    def amounts(self) -> dict[str, Any]:
        """The arguments of a question's methods `quote`, `loss` and `ask`."""
        names = ("epsilon", "rho", "delta", "within", "assume_size")
        return {name: getattr(self, name) for name in names}


class Most(Sent):
    """The largest privacy loss of a question."""

    epsilon: Amount | None = None
    rho: Amount | None = None
    delta: Amount = 0


class NewToken(Sent):
    """A new token: its principal, role and scope, and the days for which it is valid."""

    principal: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    role: Role
    datasets: Annotated[list[str], Field(max_length=MOST_DATASETS)] | None = None
    most: Most | None = None
    days: Annotated[StrictInt, Field(ge=1, le=3650)] = 30


def scope_of(given: NewToken) -> TokenScope:
    """Return the scope of a new token."""
    names = None if given.datasets is None else tuple(given.datasets)
    if given.most is None:
        return TokenScope(names)
    most = given.most
    epsilon, rho = (None if each is None else exact(each) for each in (most.epsilon, most.rho))
    return TokenScope(names, Allowance(epsilon, rho, exact(most.delta)))


# ------------------------------------------------------------------ formats of answers

PLAIN = "application/json"
EXACT = "application/vnd.tacit.release+json"
ARROW = "application/vnd.apache.arrow.stream"
ANY = ("*/*", "application/*", "")


@cache
def _media_types() -> tuple[str, ...]:
    """Return the supported media types. To look for Arrow reads folders, so it is done once."""
    return (PLAIN, EXACT, ARROW) if is_installed("arrow") else (PLAIN, EXACT)


def negotiate_media_type(request: Request) -> str:
    """Return the first media type in the Accept header that is supported.

    This is called before anything is charged, so that no charged answer is refused.
    """
    known = _media_types()
    for given in request.headers.get("accept", "").split(","):
        name = given.partition(";")[0].strip().lower()
        if name in known or name in ANY:
            return PLAIN if name in ANY else name
    told = Told(
        code="not_acceptable",
        message="None of the media types in your Accept header is supported.",
        allowed=", ".join(known),
        next="Send another Accept header.",
    )
    raise Refused(Refusal(406, told))


def release_response(release: Release, kind: str) -> Response:
    """Return a response with ``release`` in the format ``kind`` and the budget's state."""
    extra: dict[str, Any] = {}
    if isinstance(release, Answer):
        extra["release_key"] = release.release_key.hex()
        extra["standing"] = encode_budget_summary(release.standing)
    if kind == ARROW:
        return Response(_arrow(release, extra), media_type=ARROW)
    if kind == EXACT:
        return JSONResponse(
            {"release": json.loads(encode_release(release)), **extra}, media_type=EXACT
        )
    return JSONResponse(release.to_dict() | extra)


def _arrow(release: Release, extra: dict[str, Any]) -> bytes:
    facts = {name: part for name, part in release.to_dict().items() if name != "columns"}
    table = release.to_arrow().replace_schema_metadata({"tacit": json.dumps(facts | extra)})
    sink = load("pyarrow", extra="arrow").BufferOutputStream()
    with load("pyarrow.ipc", extra="arrow").new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream
