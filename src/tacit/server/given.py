"""What routes are given: the caller, their session, and the bodies that they may send."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Header, Request
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt

from tacit.ledger.question import LONGEST_NAME
from tacit.numeric.exact import LONGEST_TEXT, exact
from tacit.project.allowance import Allowance
from tacit.query.expected import MOST_SIZES, SIZES
from tacit.server.caller import Caller
from tacit.server.current import Current
from tacit.server.role import Role
from tacit.server.scope import Scope
from tacit.session.curator import Curator
from tacit.session.session import Session

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


class Question(Sent):
    """A question in SQL."""

    sql: Annotated[str, Field(max_length=LONGEST_SQL)]


class PricedQuestion(Question):
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


def scope_of(given: NewToken) -> Scope:
    """How far a new token reaches."""
    names = None if given.datasets is None else tuple(given.datasets)
    if given.most is None:
        return Scope(names)
    most = given.most
    epsilon, rho = (None if each is None else exact(each) for each in (most.epsilon, most.rho))
    return Scope(names, Allowance(epsilon, rho, exact(most.delta)))
