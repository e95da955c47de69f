"""Charges that have no answer: late, failed, run once more, or waiting for their engine.

Whether a paid question fails, and whether it is late, is seen by whoever asked, and can depend
on one person's row. So whoever sees it happen sees it once: nothing more is charged about these
people, at any door, until an owner has looked (decisions 34 and 47). What cannot depend on a
row stops nobody: a charge whose engine could not be reached waits, and is taken up by whoever
asks the same again.
"""

import json

from sqlalchemy import bindparam, select, update

from tacit.errors import InvalidValue, NotPermitted
from tacit.ledger.budget import find_budget
from tacit.ledger.chain import ALL_TIME, MARKS, append, walk
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.entries import Act, Failed, Looked, Missed, Retried, Signature, decode_act
from tacit.ledger.populations import owners_of
from tacit.ledger.reserve import PARKED, abandoned
from tacit.store import Store, Work
from tacit.store.tables import answers, budgets

_here = (budgets.c.population == bindparam("at")) & (budgets.c.period == ALL_TIME)
_MISS = update(budgets).where(_here).values(missed=budgets.c.missed + 1)
_FAIL = update(budgets).where(_here).values(failed=budgets.c.failed + 1)
_RETRY = update(budgets).where(_here).values(retried=budgets.c.retried + 1)
_LOOK = update(budgets).where(_here).values(looked=MARKS)
_STORED = select(answers.c.receipt, answers.c.body).where(
    answers.c.release == bindparam("key"), answers.c.body.is_not(None)
)
_PARK = (
    update(answers)
    .where(
        answers.c.release == bindparam("key"),
        answers.c.receipt == bindparam("paid"),
        answers.c.body.is_(None),
    )
    .values(until=PARKED, places=bindparam("places"))
)


Mark = Missed | Failed | Retried
"""What an owner looks at."""

MEANING: dict[type[Mark], str] = {Missed: "late", Failed: "failed", Retried: "run twice"}
"""Each mark in a word."""


def miss(store: Store, charge: Charge, now: int) -> None:
    """Record that no answer to ``charge`` came in time, in the chains of all its populations.

    Guarantee: once this returns, nothing is charged to them before an owner looks.
    """
    with store.writing() as work:
        _mark(work, charge, Missed, _MISS, now)
        abandoned(work, charge)


def fail(store: Store, charge: Charge, now: int) -> StoredRelease | None:
    """Record that ``charge`` failed for good; the answer, where it was stored after all.

    A store that lost its connection while it wrote the answer may have written it: then there
    is an answer and no failure.

    Guarantee: once this returns None, nothing is charged to these populations before an owner
    looks.
    """
    with store.writing() as work:
        stored = work.one(_STORED, {"key": charge.release_key})
        if stored is not None and stored[0] == charge.receipt:
            return StoredRelease(stored[1], stored[0])
        _mark(work, charge, Failed, _FAIL, now)
        abandoned(work, charge)
    return None


def retry(store: Store, charge: Charge, now: int) -> None:
    """Record that ``charge`` failed before any noise was drawn, and is run once more.

    Every third one of a population stops its charges until an owner has looked.
    """
    with store.writing() as work:
        _mark(work, charge, Retried, _RETRY, now)


def park(store: Store, charge: Charge) -> None:
    """Let ``charge`` wait for an engine that was not reached; asking again takes it up."""
    stands = [[entry.population, entry.seq] for entry in charge.entries]
    places = json.dumps({"places": stands, "retried": charge.retried})
    with store.writing() as work:
        values = {"key": charge.release_key, "paid": charge.receipt, "places": places}
        work.run(_PARK, values)


def look(store: Store, population: str, signed: Signature) -> tuple[Mark, ...]:
    """Record that an owner looked at all that was late or failed so far, and return it.

    Guarantee: what is returned is what the look covers. A failure that is recorded while the
    owner looks is in it, or stops charges again.
    """
    with store.reading() as work:
        found, place = _marks(work, population, (), 0)  # the long part, before others wait
    with store.writing() as work:
        entry = append(work, population, Looked(signed.by, signed.at))
        if signed.by not in owners_of(work, population):
            raise NotPermitted(f"{signed.by} does not own the budget of {population!r}.")
        if not find_budget(work, population).locked:
            raise InvalidValue(f"No answer about {population!r} waits for an owner to look.")
        covered, _ = _marks(work, population, found, place, before=entry.seq)
        work.run(_LOOK, {"at": population})
        return covered


def unlooked(store: Store, population: str) -> tuple[Mark, ...]:
    """What was late, failed or ran twice since an owner last looked; never why."""
    with store.reading() as work:
        return _marks(work, population, (), 0)[0]


def _marks(
    work: Work,
    population: str,
    found: tuple[Mark, ...],
    after: int,
    before: int | None = None,
) -> tuple[tuple[Mark, ...], int]:
    """The marks since an owner last looked, and the last place of the chain that was read.

    Those ``found`` up to the place ``after`` are gone on from.
    """
    marks, place = list(found), after
    for entry in walk(work, population, after):
        if entry.seq == before:
            break
        act, place = decode_act(entry.body), entry.seq
        if isinstance(act, Looked):
            marks.clear()
        elif isinstance(act, (Missed, Failed, Retried)):
            marks.append(act)
    return tuple(marks), place


def _mark(
    work: Work,
    charge: Charge,
    kind: type[Missed] | type[Failed] | type[Retried],
    count: object,
    now: int,
) -> None:
    """Write the act into each chain, and count it beside the budget."""
    for entry in charge.entries:
        act: Act = kind(entry.seq, now)
        append(work, entry.population, act)
        work.run(count, {"at": entry.population})  # type: ignore[arg-type]
