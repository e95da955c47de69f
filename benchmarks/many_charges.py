"""Writes many charges with their answers into a ledger, in few units of work.

The entries, their hashes and all rows are those that so many questions would have left. Only
the statements are sent together, so that a million charges take about a minute.
"""

from fractions import Fraction
from hashlib import sha256

from sqlalchemy import bindparam, insert, update

from tacit.core.codec import encode_event
from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.ledger.budget import count, find_budget
from tacit.ledger.chain import head_of, write_all
from tacit.ledger.charge import Units, binding_of, price
from tacit.ledger.entries import AnswerStored, Charged, Entry, encode_act, follow
from tacit.store.store import Store
from tacit.store.tables import answers, budgets, requests, subjects

BATCH = 20_000
BODY = bytes(400)
_SPEND = (
    update(budgets)
    .where(budgets.c.population == bindparam("at"))
    .values(
        spent_amount=budgets.c.spent_amount + bindparam("amount"),
        head_seq=budgets.c.head_seq + bindparam("entries"),
    )
)
_REQUEST, _ANSWER, _SUBJECT = insert(requests), insert(answers), insert(subjects)


def add_charges(store: Store, population: str, count_: int, event: Event, now: int) -> None:
    """Write ``count_`` charges of ann's, and the answer to each, at the end of a chain."""
    written = encode_event(event)
    for begin in range(0, count_, BATCH):
        numbers = range(begin, min(begin + BATCH, count_))
        with store.writing() as work:
            budget = find_budget(work, population)
            cost = price(event, budget.measure, Fraction(0))
            loss = Units.limit(Loss(budget.measure, Fraction(1, 10**6), Fraction(0)))
            total = Units(cost.amount * len(numbers), 0)
            seq, head = head_of(work, population)
            taken = {"amount": total.amount, "entries": 2 * len(numbers)}
            work.run(_SPEND, {"at": population, **taken})
            assert count(work, population, "ann", total)
            lines: list[Entry] = []
            rows: list[tuple[bytes, bytes, bytes, bytes]] = []
            for number in numbers:
                name = f"{now} {number}".encode()
                release, request = sha256(b"r" + name).digest(), sha256(b"q" + name).digest()
                act = Charged(
                    principal="ann",
                    holders=("ann",),
                    request=request.hex(),
                    plan=sha256(b"p" + name).hexdigest(),
                    release=release.hex(),
                    event=written,
                    amount=cost.amount,
                    delta=cost.delta,
                    price_delta="0",
                    populations=(population,),
                    nonce=request.hex()[:32],
                    at=now,
                    declaration=budget.declared,
                )
                charged = follow(head, population, seq + 1, encode_act(act))
                digest = sha256(BODY).hexdigest()
                answer = AnswerStored(seq + 1, release.hex(), digest, now)
                kept = follow(charged.hash, population, seq + 2, encode_act(answer))
                seq, head = kept.seq, kept.hash
                lines += (charged, kept)
                rows.append((request, release, charged.hash, sha256(b"s" + name).digest()))
            write_all(work, lines)
            places = [line.seq for line in lines[::2]]
            asked = [
                {
                    "principal": "ann",
                    "request": request,
                    "binding": binding_of("ann", [population], release),
                    "nonce": request[:16],
                    "places": str(place),
                }
                for (request, release, _, _), place in zip(rows, places, strict=True)
            ]
            stored = {"until": 0, "body": BODY, "places": None}
            answered = [
                {"release": release, "receipt": receipt, **stored}
                for _, release, receipt, _ in rows
            ]
            priced = {
                "measure": budget.measure.value,
                "amount": loss.amount,
                "delta": loss.delta,
            }
            offered = [
                {"subject": subject, "place": place + 1, "release": release, **priced}
                for (_, release, _, subject), place in zip(rows, places, strict=True)
            ]
            work.run_many(_REQUEST, asked)
            work.run_many(_ANSWER, answered)
            work.run_many(_SUBJECT, offered)
