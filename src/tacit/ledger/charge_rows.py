"""The rows of a charge and of its answer in the tables of the store, and the text of its entry.

A charge that is written alone (`tacit.ledger.reserve`) and a charge in a group
(`tacit.ledger.group_write`) have the same rows, which are built here. A charge has

* an entry in the chain of each population, with the act of `act_of`;
* the place of its answer, in the table ``answers``, which `place_row` claims and into which the
  answer is written with the parameters of `kept_row`;
* its idempotency key, in the table ``requests``;
* for the answer to a question, a row in the table ``subjects``, by which the same question at a
  smaller loss finds the answer.
"""

from collections.abc import Iterable

from tacit.core import Loss
from tacit.ledger.charge import Charge, ChargeRequest, Units
from tacit.ledger.entries import Charged, Entry


def act_of(  # noqa: PLR0913, PLR0917 - the fields of an entry
    question: ChargeRequest,
    nonce: bytes,
    now: int,
    cost: Units,
    event: str,
    holders: tuple[str, ...],
    declaration: int,
) -> Charged:
    """Return the act of charging ``question`` to one population, as the chain records it."""
    return Charged(
        principal=question.principal,
        holders=holders,
        request=question.request_key.hex(),
        plan=question.plan.hex(),
        release=question.release_key.hex(),
        event=event,
        amount=cost.amount,
        delta=cost.delta,
        price_delta=str(question.price_delta),
        populations=question.populations,
        nonce=nonce.hex(),
        at=now,
        declaration=declaration,
    )


def place_row(charge: Charge, until: int) -> dict[str, object]:
    """Return the row of the place where the answer to ``charge`` will be stored."""
    return {
        "release": charge.release_key,
        "receipt": charge.receipt,
        "until": until,
        "body": None,
        "places": None,
    }


def request_row(
    question: ChargeRequest, nonce: bytes, lines: Iterable[Entry]
) -> dict[str, object]:
    """Return the row of the idempotency key of a question that is charged by ``lines``."""
    return {
        "principal": question.principal,
        "request": question.request_key,
        "binding": question.binding,
        "nonce": nonce,
        "places": " ".join([str(line.seq) for line in lines]),
    }


def kept_row(charge: Charge, body: bytes) -> dict[str, object]:
    """Return the parameters with which `KEEP` stores the answer to ``charge``."""
    return {"key": charge.release_key, "paid": charge.receipt, "body": body}


def offer_row(charge: Charge, loss: Loss, place: int) -> dict[str, object]:
    """Return the row by which other questions find the answer to ``charge``."""
    units = Units.limit(loss)
    return {
        "subject": charge.subject,
        "place": place,
        "release": charge.release_key,
        "measure": loss.measure.value,
        "amount": units.amount,
        "delta": units.delta,
    }
