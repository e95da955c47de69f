"""Routes for the answers that a caller was given, and for the questions that they saved."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from pydantic import Field

from tacit.accounting import show_loss
from tacit.core import Answer, decode_loss, decode_release, encode_loss
from tacit.errors import InvalidValue, UnknownName
from tacit.ledger import is_name
from tacit.numeric import plain
from tacit.plan import datasets
from tacit.server.answer_list import AnswerList
from tacit.server.guarded_route import new_router, open_to
from tacit.server.identity import Caller
from tacit.server.messages import (
    AllTables,
    Amount,
    Calling,
    Sent,
    negotiate_media_type,
    release_response,
)
from tacit.server.token_policy import Role
from tacit.session import Curator, Question, WantedError
from tacit.store import GivenAnswer, GivenAnswers, SavedQuestion, SavedQuestions

router = new_router()

MOST_ANSWERS = 100
"""Largest number of answers in one response."""

LONGEST_LISTED = 20_000
"""Number of characters from which on the text of a question is not listed."""

LONGEST_SEARCH = 200

Receipt = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
Searched = Annotated[str, Query(max_length=LONGEST_SEARCH)]
Limit = Annotated[int, Query(ge=1, le=MOST_ANSWERS)]
Place = Annotated[str, Query(pattern="^([0-9]{1,18})?$")]


# ------------------------------------------------------------------ answers


def list_answer(request: Request, question: Question, answer: Answer) -> None:
    """List an answer for the principal who asked, with the text of its question.

    This is done soon, and the answer does not wait for it.
    """
    curator = question.curator
    known: AnswerList = request.app.state.answer_list
    day = answer.dates.charged if answer.dates is not None else None
    text = repr(question)  # a part of it would be another question
    given = GivenAnswer(
        principal=curator.principal,
        release_key=answer.release_key,
        receipt=answer.receipt,
        population=answer.guarantee.population.name,
        datasets=tuple(datasets(question.plan.source)),
        question=text if len(text) <= LONGEST_LISTED else "",
        loss=json.dumps(encode_loss(answer.guarantee.loss)),
        day="" if day is None else day.isoformat(),
    )
    known.add(GivenAnswers(curator.home.store, curator.home.states), given)


def settle_list(request: Request) -> None:
    """Wait until the answers that this server gave before are listed."""
    known: AnswerList = request.app.state.answer_list
    known.settle()


@router.get("/v1/answers", **open_to(Role.ANALYST, Role.OWNER))
def answers(  # noqa: PLR0913, PLR0917 - one for each filter
    request: Request,
    curator: AllTables,
    caller: Calling,
    text: Searched = "",
    dataset: Searched = "",
    population: Searched = "",
    limit: Limit = 50,
    after: Place = "",
) -> dict[str, Any]:
    """Return the answers that the caller was given, the newest first; this is free.

    An owner sees those of all analysts about their populations. They are the answers whose
    question has the `text` and reads the `dataset`. With several populations, those of one
    come after those of another; `next` continues the list of one `population`.
    """
    settle_list(request)
    catalog = caller.scope.of_catalog(curator.catalog)
    names = [each.name for each in catalog.populations]
    if population:
        names = [catalog.population(population).name]
    elif after:
        raise InvalidValue("Give the `population` whose list is to be continued.")

    def is_wanted(given: GivenAnswer) -> bool:
        return (
            may_read(caller, given, curator)
            and (not dataset or dataset in given.datasets)
            and text.casefold() in given.question.casefold()
        )

    lists, more = GivenAnswers(curator.home.store, curator.home.states), {}
    who = None if caller.role is Role.OWNER else caller.principal
    found: list[GivenAnswer] = []
    for name in names:
        each: Iterator[GivenAnswer] = lists.newest(
            name, is_wanted, principal=who, before=int(after or 2**62)
        )
        here = list(islice(each, limit + 1))
        if len(here) > limit:
            more[name] = str(here[limit - 1].place)
        found += here[:limit]
    return {"answers": [_answer_json(each, curator, caller) for each in found], "next": more}


@router.get("/v1/answers/{receipt}", **open_to(Role.ANALYST, Role.OWNER))
def answer(receipt: Receipt, request: Request, curator: AllTables, caller: Calling) -> Response:
    """Return the release of a listed answer by its receipt, as it was stored; this is free."""
    kind = negotiate_media_type(request)
    settle_list(request)
    listed = GivenAnswers(curator.home.store, curator.home.states).with_receipt(
        bytes.fromhex(receipt)
    )
    for given in listed:
        mine = caller.role is Role.OWNER or given.principal == caller.principal
        if mine and may_read(caller, given, curator):
            stored = curator.home.ledger.stored_body(given.release_key)
            if stored is not None:
                return release_response(decode_release(stored), kind)
    raise UnknownName("There is no answer with this receipt that you may read.")


def may_read(caller: Caller, given: GivenAnswer, curator: Curator) -> bool:
    """Return whether all tables of the answer's question are in the scope of the token.

    A table of the same name that is now about other people is another table.
    """
    reached = set(caller.scope.names_in(curator.catalog))
    people = {each.name: each.population for each in curator.catalog.datasets}
    public = {each.name for each in curator.catalog.public}
    return all(
        name in public or (name in reached and people[name] == given.population)
        for name in given.datasets
    )


def _answer_json(given: GivenAnswer, curator: Curator, caller: Caller) -> dict[str, Any]:
    loss = decode_loss(json.loads(given.loss))
    terms = curator.terms(given.population)
    told = {
        "receipt": given.receipt.hex(),
        "release_key": given.release_key.hex(),
        "population": given.population,
        "datasets": list(given.datasets),
        "sql": given.question or None,
        "day": given.day or None,
        "loss": encode_loss(loss),
        "cost": show_loss(loss, terms.conversion_delta),
        "place": str(given.place),
    }
    return told | ({"principal": given.principal} if caller.role is Role.OWNER else {})


# ------------------------------------------------------------------ saved questions

LONGEST_TITLE = 100
Title = Annotated[str, Path(min_length=1, max_length=LONGEST_TITLE)]


class KeptQuestion(Sent):
    """A question to save, and the margin of error to ask it within."""

    sql: Annotated[str, Field(min_length=1, max_length=20_000)]
    within: Amount | None = None


@router.get("/v1/questions", **open_to(Role.ANALYST, Role.OWNER))
def saved_questions(curator: AllTables, caller: Calling) -> dict[str, Any]:
    """Return the questions that the caller saved, in the order of their names."""
    return {"questions": [_saved_json(each) for each in _questions_of(curator, caller).all()]}


@router.get("/v1/questions/{name}", **open_to(Role.ANALYST, Role.OWNER))
def saved_question(name: Title, curator: AllTables, caller: Calling) -> dict[str, Any]:
    """Return a question that the caller saved."""
    return _saved_json(_questions_of(curator, caller)[name])


@router.put("/v1/questions/{name}", **open_to(Role.ANALYST, Role.OWNER, lane="free"))
def save_question(
    name: Title, given: KeptQuestion, curator: AllTables, caller: Calling
) -> dict[str, Any]:
    """Save a question under a name, or replace it. It is neither priced nor asked.

    It is saved for the caller's name and role, and the populations that the token reaches.
    """
    if not is_name(name):
        raise InvalidValue(
            f"A name has 1 to {LONGEST_TITLE} printable characters, in the normal form NFC and "
            "without spaces around them."
        )
    if not all(each.isprintable() or each in "\n\r\t" for each in given.sql):
        raise InvalidValue("A question has printable characters, spaces and new lines only.")
    within = ""
    if given.within is not None:
        wanted = WantedError.of(given.within)
        within = f"{plain(100 * wanted.amount)}%" if wanted.is_share else plain(wanted.amount)
    saved = SavedQuestion(name, given.sql, within)
    _questions_of(curator, caller).save(saved)
    return _saved_json(saved)


@router.delete("/v1/questions/{name}", status_code=204, **open_to(Role.ANALYST, Role.OWNER))
def remove_question(name: Title, curator: AllTables, caller: Calling) -> Response:
    """Remove a question that the caller saved."""
    _questions_of(curator, caller).remove(name)
    return Response(status_code=204)


def _questions_of(curator: Curator, caller: Caller) -> SavedQuestions:
    return SavedQuestions(curator.home.store, curator.home.states, caller.account)


def _saved_json(saved: SavedQuestion) -> dict[str, Any]:
    return {"name": saved.name, "sql": saved.question, "within": saved.within or None}
