"""Routes for owners and auditors: spending, documents, anchors and the check of documents."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Request, Response
from pydantic import Field

from tacit.core import encode_loss
from tacit.errors import TacitError
from tacit.publish import Publication, Publications
from tacit.render import spell
from tacit.server.answer_list import AnswerList
from tacit.server.guarded_route import LONGEST_BODY, new_router, open_to
from tacit.server.messages import AllTables, Door, Sent
from tacit.server.token_policy import Role
from tacit.session import (
    Curator,
    Question,
    Session,
    check_document,
    write_registry_record,
    write_report,
)

router = new_router()

YAML = "application/yaml"


class SignedText(Sent):
    """The text of a signed document: a certificate, a report or an audit."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_BODY)]


@router.get(
    "/v1/ledger/{population}/spending", **open_to(Role.AUDITOR, Role.OWNER, lane="audit")
)
def show_spending(population: str, request: Request, session: Door) -> dict[str, Any]:
    """Return what was spent over time, by analyst and by the tables of questions.

    Shares are of the budget's rho or epsilon, and add up. The forecast is at the rate of the
    last 28 days.
    """
    listed: AnswerList = request.app.state.answer_list
    listed.settle()  # tables are known from the list
    name = session.catalog.population(population).name
    quotas = [
        {
            "holder": each.holder or None,
            "quota": None if each.quota is None else encode_loss(each.quota),
            "spent": encode_loss(each.spent),
        }
        for each in session.ledger.quotas(name)
    ]
    return session.spending(name).to_dict() | {"quotas": quotas}


@router.get("/v1/ledger/{population}/report", **open_to(Role.AUDITOR, Role.OWNER, lane="audit"))
def report(population: str, session: Door, curator: AllTables) -> Response:
    """Return the signed page about a population for a board; the whole chain is verified."""
    name = session.catalog.population(population).name
    page = write_report(curator.home, name, _publications(session, curator, name))
    return Response(page, media_type="text/html")


@router.get(
    "/v1/ledger/{population}/registry", **open_to(Role.AUDITOR, Role.OWNER, lane="audit")
)
def registry(population: str, session: Door, curator: AllTables) -> Response:
    """Return the record of a population for the registry of deployments, as YAML."""
    name = session.catalog.population(population).name
    record = write_registry_record(
        curator.home, name, len(_publications(session, curator, name))
    )
    return Response(record, media_type=YAML)


@router.get(
    "/v1/ledger/{population}/anchors", **open_to(Role.AUDITOR, Role.OWNER, lane="audit")
)
def anchors(population: str, session: Door) -> dict[str, Any]:
    """Return the age of the newest anchor, and whether the chain agrees with it."""
    name = session.catalog.population(population).name
    return session.anchors(name)


@router.post("/v1/verify", **open_to(Role.AUDITOR, Role.OWNER, lane="audit"))
def verify_document(given: SignedText, session: Door, curator: AllTables) -> dict[str, Any]:
    """Check a signed document: that it is whole, who signed it, and its place in the chain.

    The place is checked for certificates about populations that the token reaches.
    """
    names = [each.name for each in session.catalog.populations]
    return asdict(check_document(curator.home, given.text, names))


def _publications(session: Session, curator: Curator, population: str) -> tuple[str, ...]:
    """Return a line for each publication about a population."""
    return tuple(
        f"{each.publication.name}: {spell(each.publication.periods.horizon, 'period')} from "
        f"{each.publication.periods.first.isoformat()}"
        + (", withdrawn" if each.withdrawn else "")
        for each in Publications(curator.home.states).listing()
        if _is_about(session, each.publication, population)
    )


def _is_about(session: Session, publication: Publication, population: str) -> bool:
    """Return whether a publication is about a population, as the caller's tables say."""
    try:
        question = session.sql(publication.sql)
    except TacitError:
        return False
    return isinstance(question, Question) and question.status().population == population
