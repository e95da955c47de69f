"""Charges without an answer: late, failed, retried, or parked until their engine is reachable.

An analyst sees whether a charged question fails or is late, and this can depend on one person's
row. To limit how much an analyst can learn from it, each incident is recorded, and nothing more
is charged about these people, through any interface, until an owner has reviewed it (decisions
34 and 47). An event that cannot depend on a row stops nothing: a charge whose engine could not
be reached is parked, and the same question asked again resumes it.

Each of these acts is repeated if the connection is lost before the database confirms its
commit. It may have happened then, so that all of them do nothing the second time: an incident
that is recorded twice breaks the rules of the chain, and a charge that is parked twice could be
resumed twice, with two draws of noise.
"""

import json

from sqlalchemy import bindparam, select, update

from tacit.errors import InternalError, InvalidValue, NotPermitted
from tacit.ledger.backwards import Mark, incidents_since_review
from tacit.ledger.budget import find_budget
from tacit.ledger.chain import ALL_TIME, MARKS, append, head_of, hold, walk
from tacit.ledger.charge import Charge, StoredRelease, receipt_of
from tacit.ledger.checkpoints import compare_signers
from tacit.ledger.entries import (
    Act,
    Charged,
    Entry,
    Failed,
    Looked,
    Missed,
    Retried,
    Signature,
    decode_act,
    encode_act,
)
from tacit.ledger.owner_keys import attest
from tacit.ledger.populations import owners_of
from tacit.ledger.receipts import charge_with
from tacit.ledger.reserve import PARKED, end_lease
from tacit.store import SigningKey, Store, Work
from tacit.store.tables import answers, budgets, entries

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
        answers.c.places.is_not_distinct_from(bindparam("resumed")),
    )
    .values(until=PARKED, places=bindparam("places"))
)
_RECORDED = (
    select(entries.c.seq)
    .where(
        entries.c.population == bindparam("at"),
        entries.c.seq > bindparam("after"),
        entries.c.body.like(bindparam("ending")),
    )
    .limit(1)
)


MEANING: dict[type[Mark], str] = {Missed: "late", Failed: "failed", Retried: "run twice"}
"""A word for each kind of incident."""


def miss(store: Store, charge: Charge, now: int) -> None:
    """Record in the chains of all its populations that ``charge`` missed its deadline.

    Guarantee: once this returns, nothing is charged to them before an owner's review.
    """
    with store.writing() as work:
        _mark(work, charge, Missed, _MISS, now)
        end_lease(work, charge)


def fail(store: Store, charge: Charge, now: int) -> StoredRelease | None:
    """Record that ``charge`` failed for good, or return its answer if that was stored.

    A store that lost its connection while it wrote the answer may have written it. Then there
    is an answer and no failure.

    Guarantee: once this returns None, nothing is charged to these populations before an owner's
    review.
    """
    with store.writing() as work:
        for entry in charge.entries:
            hold(work, entry.population)  # an answer that is being stored is stored by then
        stored = work.one(_STORED, {"key": charge.release_key})
        if stored is not None and stored[0] == charge.receipt:
            return StoredRelease(stored[1], stored[0])
        _mark(work, charge, Failed, _FAIL, now)
        end_lease(work, charge)
    return None


def retry(store: Store, charge: Charge, now: int) -> None:
    """Record that ``charge`` failed before any noise was drawn, and is retried.

    Every third retry of a population stops its charges until an owner has reviewed them.
    """
    with store.writing() as work:
        _mark(work, charge, Retried, _RETRY, now)


def park(store: Store, charge: Charge) -> None:
    """Suspend ``charge`` while its engine is unreachable; the same question resumes it.

    Guarantee: a charge that was parked and resumed since is not parked again by the one who
    parked it before, so that at most one process computes its answer.
    """
    stands = [[entry.population, entry.seq] for entry in charge.entries]
    before = 0 if charge.parked is None else json.loads(charge.parked).get("times", 1)
    places = {"places": stands, "retried": charge.retried, "times": before + 1}
    with store.writing() as work:
        values = {"key": charge.release_key, "paid": charge.receipt, "resumed": charge.parked}
        work.run(_PARK, {**values, "places": json.dumps(places)})


def look(
    store: Store, population: str, signed: Signature, key: SigningKey | None = None
) -> tuple[Mark, ...]:
    """Record that an owner reviewed all incidents so far, and return these incidents.

    With the ``key`` of checkpoints, the keys of owners are compared with the chain.

    Guarantee: the review covers exactly the returned incidents. An incident that is recorded at
    the same time is among them, or it stops charges again.
    """
    with store.reading() as work:
        # read most of the chain before the writing work below makes other writers wait
        place, _ = head_of(work, population)
        found, _ = incidents_since_review(work, population)
    with store.writing() as work:
        compare_signers(work, population, key)
        act = Looked(signed.by, signed.at)
        entry = append(work, population, act)
        owners = owners_of(work, population)
        if signed.by not in owners:
            raise NotPermitted(
                f"{signed.by} does not own the budget of {population!r}, so nothing was "
                "recorded. Ask one of its owners."
            )
        if not find_budget(work, population).locked:
            raise InvalidValue(
                f"There is no late or failed answer about {population!r} to review."
            )
        attest(work, entry, act, signed, owners)
        newer, reviewed = incidents_since_review(work, population, place, entry.seq)
        work.run(_LOOK, {"at": population})
        return newer if reviewed else (*found, *newer)


def unreviewed_incidents(store: Store, population: str) -> tuple[Mark, ...]:
    """Return the incidents since an owner's last review. The reasons are not recorded."""
    with store.reading() as work:
        return incidents_since_review(work, population)[0]


def receipt_at(store: Store, population: str, seq: int) -> bytes:
    """Return the receipt of the charge in entry ``seq`` of a chain, as a server's log has it.

    Raise `InvalidValue` if this entry is not a charge.
    """
    with store.reading() as work:
        entry = next(walk(work, population, seq - 1), None)
        act = None if entry is None else decode_act(entry.body)
        if entry is None or not isinstance(act, Charged):
            raise InvalidValue(f"Entry {seq} of {population!r} is not a charge.")
        return receipt_of(
            tuple(
                entry if name == population else _charge_of(work, name, act.nonce)
                for name in act.populations
            )
        )


def _charge_of(work: Work, population: str, nonce: str) -> Entry:
    """Return the entry of the charge with this nonce, which is in several chains."""
    found = charge_with(work, population, nonce)
    if found is None:
        raise InternalError(f"A charge has no entry in the chain of {population!r}.")
    return found


def _mark(
    work: Work,
    charge: Charge,
    kind: type[Missed] | type[Failed] | type[Retried],
    count: object,
    now: int,
) -> None:
    """Append the incident to each chain of the charge, and count it in the budget's row.

    An incident that is recorded already is not recorded again.
    """
    for entry in charge.entries:
        hold(work, entry.population)
        if _is_recorded(work, entry, kind):
            continue
        act: Act = kind(entry.seq, now)
        append(work, entry.population, act)
        work.run(count, {"at": entry.population})  # type: ignore[arg-type]


def _is_recorded(
    work: Work, entry: Entry, kind: type[Missed] | type[Failed] | type[Retried]
) -> bool:
    """Return whether the chain has an incident of this kind for the charge in ``entry``."""
    # the text of an incident ends with its charge and its kind, and begins with its time
    _, _, ending = encode_act(kind(entry.seq, 0)).partition(",")
    place = {"at": entry.population, "after": entry.seq, "ending": f"%{ending}"}
    return work.one(_RECORDED, place) is not None
