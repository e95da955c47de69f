"""The keys of owners that an anchor has, and the time when an anchor was written.

An anchor says since which entry the acts of owners are signed, and with which keys. A ledger
that is put back to the time before the first key would accept acts without a signature, also
the act that charges the difference of a restore. So every key that was anchored must be known
to the ledger: an owner who restores an old copy honestly first sets it again.
"""

from collections.abc import Callable, Collection, Iterable

from sqlalchemy import bindparam, select

from tacit.ledger.entries import Charged, decode_act
from tacit.ledger.owner_acts import fingerprint
from tacit.store import Work
from tacit.store.tables import entries, owner_keys

Clock = Callable[[], int]
"""A function that returns the time in milliseconds."""

_KEYS = select(
    owner_keys.c.population, owner_keys.c.key, owner_keys.c.since, owner_keys.c.current
).where(owner_keys.c.owner != "")
_KNOWN = select(owner_keys.c.key).where(
    owner_keys.c.population == bindparam("at"), owner_keys.c.owner != ""
)
_LAST_CHARGE = (
    select(entries.c.body)
    .where(
        entries.c.population == bindparam("at"),
        entries.c.body.like('%"kind":"charged"%'),
    )
    .order_by(entries.c.seq.desc())
    .limit(1)
)


def anchored_keys(work: Work) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return the entry of each population's first key, and the present keys of its owners."""
    found: dict[str, tuple[int, tuple[str, ...]]] = {}
    for population, key, since, current in sorted(work.all(_KEYS, {})):
        first, keys = found.get(population, (since, ()))
        found[population] = min(first, since), (*keys, key) if current else keys
    return found


def lost_keys(
    population: str, since: int | None, anchored: Iterable[str], known: Collection[str]
) -> str | None:
    """Return what is wrong if a key that was anchored is not among ``known``; None otherwise.

    Example:
        >>> lost_keys("patients", 7, ("d7" * 32,), {"d7" * 32}) is None
        True
        >>> lost_keys("patients", 7, ("d7" * 32,), set())[:60]
        "the acts of owners of 'patients' were signed since entry 7, "
    """
    missing = sorted(set(anchored) - set(known))
    if not missing:
        return None
    return (
        f"the acts of owners of {population!r} were signed since entry {since}, and the key "
        f"{fingerprint(missing[0])}, which was anchored, is not known here"
    )


def known_keys(work: Work, population: str) -> set[str]:
    """Return every key that an owner of ``population`` has or had, as the table has them."""
    return {key for (key,) in work.all(_KNOWN, {"at": population})}


def last_charge_at(work: Work, population: str) -> int:
    """Return the time of the newest charge in a chain; 0 if there is none."""
    row = work.one(_LAST_CHARGE, {"at": population})
    act = None if row is None else decode_act(row[0])
    return act.at if isinstance(act, Charged) else 0
