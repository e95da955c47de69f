"""The declarations under which questions are priced, and whether they are still current.

The price of a question follows from the declarations: bounds, keys, limits, the unit column.
Each declaration has a number, which is its entry's number in the population's chain, and a
charge names the number of the declaration under which it was priced. When owners declare
something else, the current number changes, and the conditional update of `tacit.ledger.chain`
refuses every charge that names an old number.

A session has a catalogue and the `Declarations` from which the catalogue was read. When a
charge is refused, `renew` compares the new declaration with these. If both say the same about
the catalogue, the session continues under the new number; otherwise the question is refused.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import bindparam, select

from tacit.errors import DeclarationsChanged
from tacit.ledger.charge import MOST
from tacit.ledger.entries import Described, FactsDeclared, decode_act
from tacit.project import is_epoch_fact
from tacit.store import Store, Work
from tacit.store.tables import budgets, entries

_DECLARED = (
    select(budgets.c.population, budgets.c.declared, entries.c.body)
    .select_from(budgets)
    .outerjoin(
        entries,
        (entries.c.population == budgets.c.population) & (entries.c.seq == budgets.c.declared),
    )
)
_NUMBERS = select(budgets.c.population, budgets.c.declared)
_OF_ONE = _DECLARED.where(budgets.c.population == bindparam("at"))


@dataclass(frozen=True, slots=True)
class Declaration:
    """The facts declared about a population's tables, as text, and the tables' identities.

    A table without a location of its own, such as a data frame, has no identity in ``tables``.
    """

    facts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    def says_all_of(self, other: "Declaration") -> bool:
        """Return whether this declaration contains all facts and tables of ``other``."""
        return set(other.facts) <= set(self.facts) and set(other.tables) <= set(self.tables)


Numbered = tuple[int, Declaration]
"""The number of a declaration, and the declaration. The number is 0 if there is none."""


class Declarations(Protocol):
    """The declarations under which a session prices questions."""

    def number(self, population: str) -> int:
        """Return the declaration's number; raise `DeclarationsChanged` for a refused one."""
        ...

    def renew(self, population: str, store: Store) -> bool:
        """Continue under the ledger's newer declaration, if it does not change any price.

        Return whether the session continues under it.
        """
        ...

    def refused_populations(self) -> frozenset[str]:
        """Return the populations about which questions are refused."""
        ...

    def refusing(self, refused: Mapping[str, str]) -> "CatalogDeclarations":
        """Return a copy that refuses questions about more populations, each for a reason."""
        ...


class NoDeclarations:
    """Declarations of a session that knows none. It can charge undeclared populations only."""

    def refused_populations(self) -> frozenset[str]:
        """Return the empty set: no population is refused."""
        return frozenset()

    def refusing(self, refused: Mapping[str, str]) -> "CatalogDeclarations":
        """Return declarations that are empty and refuse some populations."""
        return CatalogDeclarations({}, refused=refused)

    def number(self, population: str) -> int:  # noqa: ARG002 - the same for all
        """Return 0, which stands for no declaration."""
        return 0

    def renew(self, population: str, store: Store) -> bool:  # noqa: ARG002 - the same for all
        """Return False: without declarations, a newer one cannot be compared with any."""
        return False


UNNUMBERED = NoDeclarations()


class AnyDeclaration(NoDeclarations):
    """Declarations for charges whose price depends on no table, such as those of surveys."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, population: str) -> int:
        """Return the number that was last read from the ledger."""
        return self._numbers.get(population, 0)

    def renew(self, population: str, store: Store) -> bool:
        """Read the current number from the ledger, and return True."""
        with store.reading() as work:
            self._numbers[population] = declaration_in(work, population)[0]
        return True


class CatalogDeclarations:
    """The declarations of one catalogue.

    The catalogue of a project file contains everything that is declared about its populations.
    A catalogue that was opened table by table (``partly``) may contain only a part of it.
    """

    def __init__(
        self,
        held: Mapping[str, Numbered],
        *,
        partly: bool = False,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        self._held = dict(held)
        self._partly = partly
        self._refused = dict(refused or {})

    def number(self, population: str) -> int:
        """Return the number of the declaration under which ``population`` is priced."""
        if population in self._refused:
            raise DeclarationsChanged(self._refused[population], population)
        return self._held[population][0] if population in self._held else 0

    def renew(self, population: str, store: Store) -> bool:
        """Continue under the current declaration if it agrees with this catalogue."""
        if population in self._refused:
            return False
        held = self._held.get(population, (0, Declaration()))[1]
        with store.reading() as work:
            number, now = declaration_in(work, population)
        same = now.says_all_of(held) and (self._partly or held.says_all_of(now))
        if same:
            self._held[population] = (number, held)
        return same

    def refused_populations(self) -> frozenset[str]:
        """Return the populations about which questions are refused."""
        return frozenset(self._refused)

    def refusing(self, refused: Mapping[str, str]) -> "CatalogDeclarations":
        """Return a copy that refuses questions about more populations, each for a reason."""
        both = self._refused | dict(refused)
        return CatalogDeclarations(self._held, partly=self._partly, refused=both)


def declaration_in(work: Work, population: str) -> Numbered:
    """Return the current declaration of one population, with its number."""
    row = work.one(_OF_ONE, {"at": population})
    return (0, Declaration()) if row is None else _read(row[1], row[2])


def declarations_in(work: Work) -> dict[str, Numbered]:
    """Return the current declaration of every population, with its number."""
    return {name: _read(number, body) for name, number, body in work.all(_DECLARED, {})}


def numbers_in(work: Work) -> dict[str, int]:
    """Return the number of every population's current declaration."""
    return dict(work.all(_NUMBERS, {}))


def _read(number: int, body: str | None) -> Numbered:
    act = decode_act(body) if body is not None else None
    if not isinstance(act, Described):
        return 0, Declaration()
    return number, Declaration(act.facts, act.tables)


# ------------------------------------------------------------------ epochs
# An epoch of a table begins with the first declaration that names it, and lasts while every
# later declaration names it too. A declaration records when each of its epochs began, so that
# one entry is enough to date an answer.

EpochTimes = Mapping[str, int]
"""The time at which each epoch began, by the fact that states the epoch."""

_ENTRY_AT = select(entries.c.body).where(
    entries.c.population == bindparam("at"), entries.c.seq == bindparam("number")
)
_EARLIER = (
    select(entries.c.body)
    .where(
        entries.c.population == bindparam("at"),
        entries.c.seq <= bindparam("number"),
        entries.c.body.like('%"kind":"described"%')
        | entries.c.body.like('%"kind":"declared"%'),
    )
    .order_by(entries.c.seq)
)


def follow_epochs(before: EpochTimes, facts: Iterable[str], now: int) -> dict[str, int]:
    """Return when each epoch among ``facts`` began, if they are declared at the time ``now``.

    Example:
        >>> follow_epochs({"visits: epoch '1'": 5}, ["visits: epoch '1'", "x: epoch '2'"], 9)
        {"visits: epoch '1'": 5, "x: epoch '2'": 9}
    """
    return {fact: before.get(fact, now) for fact in facts if is_epoch_fact(fact)}


def write_epochs(times: EpochTimes) -> tuple[str, ...]:
    """Return ``times`` as they are recorded in a declaration, sorted by the facts."""
    return tuple(f"{at} {fact}" for fact, at in sorted(times.items()))


def read_epochs(since: Iterable[str]) -> dict[str, int]:
    """Return the times that `write_epochs` recorded."""
    pairs = (each.partition(" ") for each in since)
    return {fact: int(at) for at, _, fact in pairs}


def epochs_in(work: Work, population: str, number: int) -> dict[str, int]:
    """Return when the epochs of the declaration ``number`` began; 0 stands for no number.

    A declaration of an earlier version does not record it; then all declarations up to it are
    read.
    """
    row = work.one(_ENTRY_AT, {"at": population, "number": number})
    act = decode_act(row[0]) if row is not None else None
    if isinstance(act, Described) and act.since:
        return read_epochs(act.since)
    times: dict[str, int] = {}
    for (body,) in work.all(_EARLIER, {"at": population, "number": number or MOST}):
        earlier = decode_act(body)
        if isinstance(earlier, Described | FactsDeclared):
            times = follow_epochs(times, earlier.facts, earlier.at)
    return times
