"""The facts of a ledger about one population, read in one pass over its chain.

Every entry is verified while it is read (`tacit.ledger.Book`). Sums are kept by day, by
principal and by mechanism, so that memory does not grow with the number of charges.
"""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fractions import Fraction

from tacit import core
from tacit.accounting import leaves, mu_of_square, mu_square
from tacit.certify.certificate import event_name, time_text
from tacit.certify.fact_words import fact_texts
from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger import (
    KINDS,
    NO_UNITS,
    AmountTexts,
    Attested,
    Book,
    Checkpointed,
    Ledger,
    Restored,
    Status,
    Units,
)
from tacit.ledger import entries as acts

MOST_NOTES = 200
"""Number of decisions and incidents that are listed one by one; of more, the newest are."""

NEWEST_ANSWERS = 20
"""Number of newest answers whose assumptions are listed."""


@dataclass(frozen=True, slots=True)
class Note:
    """One entry in words: its number, its time, who acted, its kind, and what it says."""

    seq: int
    at: int
    by: str
    kind: str
    said: str

    @property
    def row(self) -> tuple[str, str, str, str, str]:
        """The cells of a table."""
        return str(self.seq), time_text(self.at), self.by, self.kind, self.said


@dataclass(slots=True)
class PopulationFacts:
    """All that a report or a registry record says about a population."""

    book: Book
    status: Status
    spent_on: dict[date, Units] = field(default_factory=dict)
    """The sum of charges of each day, in UTC, with inherited amounts."""
    caps: list[tuple[date, Units]] = field(default_factory=list)
    """The cap from each day on which it changed."""
    asked_by: Counter[str] = field(default_factory=Counter)
    """The number of charges of each principal."""
    mechanisms: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each mechanism was used, by its name and its numerics."""
    decisions: list[Note] = field(default_factory=list)
    incidents: list[Note] = field(default_factory=list)
    declared: list[tuple[int, int]] = field(default_factory=list)
    """The number and the time of each declaration."""
    freezes: int = 0
    first: int | None = None
    """The time of the first charge."""
    last: int | None = None
    timed: int = 0
    """The number of charges that paid for a random delay of the answer."""
    newest: deque[str] = field(default_factory=lambda: deque(maxlen=NEWEST_ANSWERS))
    """The keys of the newest releases, in hexadecimal digits."""
    squares: float | None = 0.0
    """The sum of the squared mu of all charges; None if some noise is not Gaussian."""

    @property
    def name(self) -> str:
        """The name of the population."""
        return self.book.population

    @property
    def opened(self) -> acts.Opened:
        """The first entry of the chain."""
        if self.book.opened is None:
            raise LedgerBroken("A chain begins with its opening. Restore the ledger.")
        return self.book.opened

    @property
    def unit(self) -> core.PrivacyUnit:
        """The unit of privacy, with the neighbours that are hidden."""
        return core.PrivacyUnit(self.opened.unit, core.Neighbours(self.opened.neighbours))

    @property
    def declared_facts(self) -> list[str]:
        """The facts of the current declaration, as documents show them."""
        return fact_texts(self.book.declared)

    @property
    def mu(self) -> Fraction | None:
        """The mu of Gaussian differential privacy of all charges, if all noise is Gaussian."""
        return None if self.book.inherited else mu_of_square(self.squares)

    def loss(self, units: Units) -> core.Loss:
        """Return units as a loss in the measure of the budget."""
        return units.loss(self.status.measure)

    @property
    def texts(self) -> AmountTexts:
        """The texts of amounts of the budget, and of entries."""
        return AmountTexts.of(self.status)

    def total(self, units: Units) -> str:
        """Return units as text with the whole delta, which includes that of the conversion."""
        return self.texts.cap(units)

    def loss_text(self, units: Units) -> str:
        """Return units as text: epsilon first, and rho in brackets."""
        return self.texts.part(units)

    def read(self, entry: acts.Entry) -> None:
        """Verify the next entry, and count what it says."""
        cap = self.book.cap
        act = self.book.read(entry)
        match act:
            case acts.Opened():
                self.caps.append((day_of(act.at), self.book.cap))
                self._govern(entry, act, self.book.cap)
            case acts.Charged():
                self._charge(act)
            case acts.Missed() | acts.Failed() | acts.Retried() | acts.Looked():
                self._incident(entry, act)
            case acts.Inherited() | Restored():
                self._spend(day_of(act.at), Units(act.amount, act.delta))
                self.squares = None
                self._govern(entry, act, cap)
            case acts.AnswerStored() | acts.StateSealed() | Attested() | Checkpointed():
                pass
            case _:
                self._govern(entry, act, cap)

    def _govern(self, entry: acts.Entry, act: acts.Act, cap: Units) -> None:
        """Note an act of an owner, or a request to owners; ``cap`` is the cap before it."""
        by, at = getattr(act, "by", getattr(act, "principal", "")), getattr(act, "at", 0)
        if isinstance(act, acts.Described | acts.FactsDeclared):
            self.declared.append((entry.seq, act.at))
        if isinstance(act, acts.Frozen):
            self.freezes += 1
        if self.caps and self.caps[-1][1] != self.book.cap:
            self.caps.append((day_of(at), self.book.cap))
        kind, said = KINDS[type(act)], self.texts.words(act, cap)
        self.decisions.append(Note(entry.seq, at, by, kind, said))
        del self.decisions[:-MOST_NOTES]

    def _charge(self, act: acts.Charged) -> None:
        self.first = act.at if self.first is None else self.first
        self.last = act.at
        self.newest.append(act.release)
        self.asked_by[act.principal] += 1
        self._spend(day_of(act.at), Units(act.amount, act.delta))
        event = core.decode_event(act.event)
        kinds = set()
        for leaf, times in leaves(event):
            if not isinstance(leaf, core.Nothing):
                kinds.add((event_name(leaf), leaf.numerics.value))
                self.timed += isinstance(leaf, core.DelayNoise) and times > 0
        self.mechanisms.update(kinds)
        square = mu_square(event)
        if square is None or self.squares is None:
            self.squares = None
        else:
            self.squares += square

    def _spend(self, day: date, units: Units) -> None:
        self.spent_on[day] = self.spent_on.get(day, NO_UNITS) + units

    def _incident(self, entry: acts.Entry, act: acts.Act) -> None:
        by, at = getattr(act, "by", ""), getattr(act, "at", 0)
        said = self.texts.words(act)
        self.incidents.append(Note(entry.seq, at, by, KINDS[type(act)], said))
        del self.incidents[:-MOST_NOTES]


def day_of(at: int) -> date:
    """Return the day of a ledger's time, in UTC."""
    return datetime.fromtimestamp(at / 1000, UTC).date()


def read_population(ledger: Ledger, population: str) -> PopulationFacts:
    """Return what the ledger says about a population; its whole chain is verified.

    Raises:
        LedgerBroken: An entry does not follow from the one before, or the stored sum of the
            budget differs from that of the chain.
    """
    status = ledger.status(population)
    found = PopulationFacts(Book(population), status)
    for entry in _entries(ledger, population):
        found.read(entry)
    now = ledger.status(population)
    if found.book.spent.amount > now.spent_units.amount:
        raise LedgerBroken(
            f"The stored sum of the budget of {population!r} is below the sum of its charges. "
            "Restore the ledger from a backup, and verify it with `tacit ledger verify`."
        )
    return found


def newest_assumptions(facts: PopulationFacts, ledger: Ledger) -> tuple[str, ...]:
    """Return the assumptions of the newest stored answers, each once."""
    found: dict[str, None] = {}
    for key in facts.newest:
        body = ledger.stored_body(bytes.fromhex(key))
        if body is None:
            continue
        try:
            release = core.decode_release(body)
        except InvalidValue:  # the answer of a stream or a holdout
            continue
        found |= dict.fromkeys(release.guarantee.assumptions)
    return tuple(found)


def _entries(ledger: Ledger, population: str) -> Iterator[acts.Entry]:
    after = 0
    while page := ledger.entries(population, after):
        yield from page
        after = page[-1].seq
