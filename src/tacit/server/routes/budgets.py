"""What is spent and left, and the chain that says so."""

from typing import Annotated, Any

from fastapi import Query

from tacit.core.stored_standing import encode_loss
from tacit.ledger.status import Status
from tacit.ledger.unanswered import MEANING
from tacit.numeric.exact import plain
from tacit.server.given import AllTables, Calling, Door
from tacit.server.role import Role
from tacit.server.route import new_router, open_to

router = new_router()

Place = Annotated[int, Query(ge=0, le=2**62)]


@router.get("/v1/status", **open_to(Role.ANALYST, Role.OWNER, Role.AUDITOR))
def status(session: Door, caller: Calling, curator: AllTables) -> dict[str, Any]:
    """What is spent of each budget, and by the caller themselves.

    Owners are told what this server waits for, where it does not answer about a population.
    """
    waits = curator.waits if caller.role is Role.OWNER else {}
    return {
        "budgets": [
            _told(session.status(people.name))
            | {"own": _own(session.ledger.status_for(people.name, caller.principal))}
            | ({"waits": waits[people.name]} if people.name in waits else {})
            for people in session.catalog.populations
        ]
    }


@router.get("/v1/ledger/{population}", **open_to(Role.AUDITOR, Role.OWNER))
def ledger(population: str, session: Door, after: Place = 0) -> dict[str, Any]:
    """The entries of a population's chain after a place, at most a thousand."""
    name = session.catalog.population(population).name
    entries = session.ledger.entries(name, after)
    return {
        "population": name,
        "entries": [
            {"seq": entry.seq, "body": entry.body, "hash": entry.hash.hex()}
            for entry in entries
        ],
    }


@router.get("/v1/ledger/{population}/verify", **open_to(Role.AUDITOR, Role.OWNER))
def verify(population: str, session: Door) -> dict[str, Any]:
    """Walk the whole chain of a population, and say whether it holds."""
    verdict = session.verify(population)
    return {
        "population": verdict.population,
        "entries": verdict.entries,
        "head": verdict.head.hex(),
        "spent": encode_loss(verdict.spent),
        "cap": encode_loss(verdict.cap),
        "verdict": str(verdict),
    }


@router.post("/v1/ledger/{population}/look", **open_to(Role.OWNER))
def look(population: str, session: Door, caller: Calling) -> dict[str, Any]:
    """Record that an owner looked at what was late or failed; then more is charged.

    The answer lists each charge that was looked at (`looked_at`): its place in the chain, what
    became of it, and when; never why.
    """
    name = session.catalog.population(population).name
    seen = session.ledger.look(name, by=caller.principal)
    listed = [{"charge": act.charge, "what": MEANING[type(act)], "at": act.at} for act in seen]
    return {**_told(session.status(name)), "looked_at": listed}


@router.post("/v1/ledger/{population}/freeze", **open_to(Role.OWNER))
def freeze(population: str, session: Door, caller: Calling) -> dict[str, Any]:
    """Stop all charges about a population, at every server that shares the ledger."""
    name = session.catalog.population(population).name
    entry = session.ledger.freeze(name, by=caller.principal)
    return {"population": name, "entry": entry.seq, "frozen": True}


@router.post("/v1/ledger/{population}/thaw", **open_to(Role.OWNER))
def thaw(population: str, session: Door, caller: Calling) -> dict[str, Any]:
    """Allow charges about a population again."""
    name = session.catalog.population(population).name
    entry = session.ledger.thaw(name, by=caller.principal)
    return {"population": name, "entry": entry.seq, "frozen": False}


def _told(status: Status) -> dict[str, Any]:
    return {
        "population": status.population,
        "conversion_delta": plain(status.conversion_delta),
        **_own(status),
        "total": encode_loss(status.total),
        "total_so_far": encode_loss(status.total_so_far),
        "missed": status.missed,
        "locked": status.locked,
        "failed": status.failed,
        "retried": status.retried,
        "least": encode_loss(status.least),
        "frozen": status.frozen,
        "declaration": status.declaration,
    }


def _own(status: Status) -> dict[str, Any]:
    return {name: encode_loss(getattr(status, name)) for name in ("cap", "spent", "left")}
