"""The declarations that questions are priced by, and whether they still hold.

A price follows from what was declared: bounds, keys, limits, the unit column. Each declaration
has a number, its place in the population's chain, and a charge names the number it was priced
by. When owners declare something else, the number moves, and the conditional update of
`tacit.ledger.chain` refuses every charge that names the old one. Whoever holds a catalogue
holds its `Declarations` beside it, and finds out here whether the new declaration says the same
about that catalogue.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import bindparam, select

from tacit.errors import DeclarationsChanged
from tacit.ledger.entries import Described, decode_act
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
    """What is declared of a population's tables: the facts in words, and which tables they are.

    ``tables`` are identities of physical tables; there are none for a table that has no place
    of its own, such as a data frame.
    """

    facts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    def says_all_of(self, other: "Declaration") -> bool:
        """Whether everything that ``other`` says is said here too."""
        return set(other.facts) <= set(self.facts) and set(other.tables) <= set(self.tables)


Numbered = tuple[int, Declaration]
"""A declaration and its number, which is 0 where nothing is declared."""


class Declarations(Protocol):
    """The declarations by which somebody prices questions."""

    def number(self, population: str) -> int:
        """The number of the declaration; `DeclarationsChanged` where none may be used."""
        ...

    def renew(self, population: str, store: Store) -> bool:
        """Whether the ledger's newer declaration says the same, so that its number is used."""
        ...

    def refused(self) -> frozenset[str]:
        """Populations that may not be asked about."""
        ...

    def refusing(self, refused: Mapping[str, str]) -> "HeldDeclarations":
        """The same, where more populations may not be asked about, each with the reason."""
        ...


class NoDeclarations:
    """For whoever knows of no declaration: only populations that have none are charged."""

    def refused(self) -> frozenset[str]:
        """Nobody."""
        return frozenset()

    def refusing(self, refused: Mapping[str, str]) -> "HeldDeclarations":
        """Nothing is known, and some populations may not be asked about."""
        return HeldDeclarations({}, refused=refused)

    def number(self, population: str) -> int:  # noqa: ARG002 - the same for all
        """No declaration."""
        return 0

    def renew(self, population: str, store: Store) -> bool:  # noqa: ARG002 - the same for all
        """Never: what is declared is not known here."""
        return False


UNNUMBERED = NoDeclarations()


class AnyDeclaration(NoDeclarations):
    """For charges whose price depends on no table, such as those of surveys."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, population: str) -> int:
        """The number that was last read."""
        return self._numbers.get(population, 0)

    def renew(self, population: str, store: Store) -> bool:
        """Always: take over the number of today."""
        with store.reading() as work:
            self._numbers[population] = declaration_in(work, population)[0]
        return True


class HeldDeclarations:
    """The declarations of one catalogue.

    A catalogue of a project file holds all that is declared of its populations. One that was
    opened table by table (``partly``) holds a part: others may declare more tables.
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
        """The number by which questions about ``population`` are priced."""
        if population in self._refused:
            raise DeclarationsChanged(self._refused[population], population)
        return self._held[population][0] if population in self._held else 0

    def renew(self, population: str, store: Store) -> bool:
        """Take over the number of a declaration that says the same about this catalogue."""
        if population in self._refused:
            return False
        held = self._held.get(population, (0, Declaration()))[1]
        with store.reading() as work:
            number, now = declaration_in(work, population)
        same = now.says_all_of(held) and (self._partly or held.says_all_of(now))
        if same:
            self._held[population] = (number, held)
        return same

    def refused(self) -> frozenset[str]:
        """Populations that may not be asked about here."""
        return frozenset(self._refused)

    def refusing(self, refused: Mapping[str, str]) -> "HeldDeclarations":
        """The same, where more populations may not be asked about."""
        both = self._refused | dict(refused)
        return HeldDeclarations(self._held, partly=self._partly, refused=both)


def declaration_in(work: Work, population: str) -> Numbered:
    """What is declared of one population now, and its number."""
    row = work.one(_OF_ONE, {"at": population})
    return (0, Declaration()) if row is None else _read(row[1], row[2])


def declarations_in(work: Work) -> dict[str, Numbered]:
    """What is declared of every population now, and the numbers."""
    return {name: _read(number, body) for name, number, body in work.all(_DECLARED, {})}


def numbers_in(work: Work) -> dict[str, int]:
    """The number of every population's declaration now."""
    return dict(work.all(_NUMBERS, {}))


def _read(number: int, body: str | None) -> Numbered:
    act = decode_act(body) if body is not None else None
    if not isinstance(act, Described):
        return 0, Declaration()
    return number, Declaration(act.facts, act.tables)
