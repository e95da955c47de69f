"""A ledger as people read it: who did what, when, at what cost, and what became of it.

A `History` has a line for each entry of a population's chain, in words. A line about a charge
or a proposal also says what was recorded about it later: answered, failed, approved. Entries
that only complete another one (a stored answer, a new version of a sealed state) have no line,
unless their kind is asked for.

Reading is not verifying. The words are those of the entries as the store has them, and
`tacit.ledger.verify` checks that no entry was changed.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, Self

from sqlalchemy import bindparam, select

from tacit.core import Loss, Measure, decode_loss, encode_loss
from tacit.errors import InvalidValue, LedgerBroken, UnknownName
from tacit.ledger import entries as acts
from tacit.ledger.backwards import MARKS, PAGE, backwards, count_incidents, kind_in
from tacit.ledger.budget import BudgetRow, find_budget
from tacit.ledger.chain_acts import Restored
from tacit.ledger.charge import NO_UNITS, Units
from tacit.ledger.entry_words import (
    COMPLETING,
    NAMES,
    NOT_ADDED,
    AmountTexts,
    epsilon_text,
    time_text,
)
from tacit.ledger.receipts import CHARGED, joint_entries
from tacit.render import html, safe
from tacit.store import Store, Work
from tacit.store.tables import answers, entries, proposals

USUAL_LIMIT = 50
"""Number of lines that are returned if nobody asks for more."""

DAY = "2026-11-19"
"""An example of a day, for messages."""

MOST_LINES = 100_000
"""Largest number of lines of one history."""

_AT = re.compile(r'"at":"([0-9]+)"')

MARGIN_MS = 86_400_000
"""How far the clock of a server that writes to a ledger may be wrong: a day."""

_OF_PLACE = (entries.c.population == bindparam("at")) & (entries.c.seq == bindparam("place"))
_ENTRY = select(entries.c.body, entries.c.hash).where(_OF_PLACE)
_WITH_HASH = select(entries.c.population, entries.c.seq, entries.c.body).where(
    entries.c.hash == bindparam("hash"), entries.c.seq > bindparam("after")
)
_ANSWER = select(answers.c.receipt, answers.c.body.is_not(None)).where(
    answers.c.release == bindparam("release")
)
_WAITING = select(proposals.c.seq).where(proposals.c.population == bindparam("at"))


# ------------------------------------------------------------------ what is wanted


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which entries a history has. Days are in UTC, and both of them are included.

    ``analyst`` is the name of a person or a team: entries by them, or about them. ``receipt``
    is that of a charge, in hexadecimal digits, as certificates and answers have it. Of the
    entries that fit, the newest ``limit`` are returned.
    """

    analyst: str | None = None
    kinds: frozenset[str] = frozenset()
    since: date | None = None
    until: date | None = None
    limit: int = USUAL_LIMIT
    receipt: str | None = None

    def __post_init__(self) -> None:
        unknown = sorted(self.kinds - set(NAMES.values()))
        if unknown:
            raise InvalidValue(
                f"{safe(unknown[0])!r} is not a kind of entry. The kinds are: "
                f"{', '.join(sorted(set(NAMES.values())))}."
            )
        if not 1 <= self.limit <= MOST_LINES:
            raise InvalidValue(f"The limit must be a number of lines from 1 to {MOST_LINES}.")
        if self.since and self.until and self.until < self.since:
            raise InvalidValue(
                f"No day is since {self.since} and until {self.until}. Give an earlier day as "
                "the first."
            )
        if self.receipt is not None and not _RECEIPT.fullmatch(self.receipt):
            raise InvalidValue("A receipt has 64 hexadecimal digits, as an answer prints it.")

    def has_kind(self, kind: str) -> bool:
        """Return whether entries of ``kind`` are wanted."""
        return kind in self.kinds if self.kinds else kind not in COMPLETING

    def may_have(self, body: str, name: str | None) -> bool:
        """Return False if the entry with the text ``body`` is not wanted, without decoding it.

        ``name`` is the analyst's name as a body has it. Most entries of a long chain are left
        out by this, which is ten times faster.
        """
        if name is not None and name not in body:
            return False
        at = _AT.search(body) if self.since or self.until else None
        return at is None or self._has_time(int(at[1]))

    @property
    def too_old(self) -> int:
        """The time before which an entry is more than a day older than what is wanted.

        Entries are not quite in the order of their times, because servers that share a ledger
        have clocks of their own. A reader stops after a page of such entries in a row.
        """
        return _start_of(self.since) - MARGIN_MS if self.since else 0

    def _has_time(self, at: int) -> bool:
        if self.since and at < _start_of(self.since):
            return False
        return not (self.until and at >= _start_of(self.until + timedelta(days=1)))

    def has(self, act: acts.Act) -> bool:
        """Return whether an entry of a wanted kind is wanted."""
        at: int | None = getattr(act, "at", None)
        if at is None and (self.since or self.until):
            return False
        if at is not None and not self._has_time(at):
            return False
        return self.analyst is None or self.analyst in _people_in(act)

    @classmethod
    def of(  # noqa: PLR0913 - one for each filter
        cls,
        *,
        analyst: str | None = None,
        kind: str | Sequence[str] = (),
        since: date | str | None = None,
        until: date | str | None = None,
        limit: int = USUAL_LIMIT,
        receipt: str | None = None,
    ) -> Self:
        """Return the filter that people write: a kind or several, and days as dates or text.

        Example:
            >>> HistoryFilter.of(kind="charge", since="2026-11-01").since
            datetime.date(2026, 11, 1)
        """
        kinds = frozenset([kind] if isinstance(kind, str) else kind)
        found = None if receipt is None else receipt.strip().lower()
        return cls(analyst, kinds, _day(since), _day(until), limit, found)

    def to_query(self) -> list[tuple[str, str]]:
        """Return the filter as the query of a url.

        Example:
            >>> HistoryFilter.of(analyst="ann", limit=5).to_query()
            [('analyst', 'ann'), ('limit', '5')]
        """
        given = [("analyst", self.analyst), *(("kind", each) for each in sorted(self.kinds))]
        days = [("since", self.since), ("until", self.until), ("receipt", self.receipt)]
        named = [(name, str(value)) for name, value in (*given, *days) if value is not None]
        return [*named, ("limit", str(self.limit))]


_RECEIPT = re.compile("[0-9a-f]{64}")

ALL = HistoryFilter()


def _day(given: date | str | None) -> date | None:
    """Return a day, which may be given as text; a time is refused, as both days are whole."""
    if isinstance(given, datetime) or (isinstance(given, str) and len(given) > len(DAY)):
        raise InvalidValue(f"Give a day without a time, such as {DAY}.")
    try:
        return date.fromisoformat(given) if isinstance(given, str) else given
    except ValueError as error:
        raise InvalidValue(f"A day must be written as in {DAY}.") from error


def _start_of(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def _people_in(act: acts.Act) -> set[str]:
    """Return the names of the person who acted, and of those whom the entry is about."""
    names = {getattr(act, name, None) for name in ("principal", "by", "holder", "group")}
    if isinstance(act, acts.Charged):
        names |= set(act.holders)
    if isinstance(act, acts.Proposed):
        names.add(getattr(act.decision, "owner", None))
    return {name for name in names if name}


# ------------------------------------------------------------------ lines


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One entry in words.

    ``entry`` is its number in the chain. ``at`` is in milliseconds since 1970, and None for an
    entry without a time. ``who`` is the analyst or owner who acted, and empty if none did.
    ``decision`` says what became of it: a charge was answered, a proposal was approved.
    """

    entry: int
    at: int | None
    who: str
    kind: str
    what: str
    cost: Loss | None = None
    epsilon: str | None = None
    """The epsilon of the cost, at the delta of the budget, rounded up."""
    decision: str = ""
    receipt: str | None = None
    """The receipt of a charge in hexadecimal digits, which its certificate has too."""

    @property
    def when(self) -> str:
        """The time in UTC as text; the empty text for an entry without a time."""
        if self.at is None:
            return ""
        return time_text(self.at)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "entry": self.entry,
            "at": self.at,
            "when": self.when,
            "who": self.who,
            "kind": self.kind,
            "what": self.what,
            "epsilon": self.epsilon,
            "cost": None if self.cost is None else encode_loss(self.cost),
            "decision": self.decision,
            "receipt": self.receipt,
        }

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Self:
        """Return the line from the values of `to_dict`."""
        names = ("entry", "at", "who", "kind", "what", "epsilon", "decision")
        cost = None if told["cost"] is None else decode_loss(told["cost"])
        found = {name: told[name] for name in names}
        return cls(**found, cost=cost, receipt=told.get("receipt"))


HEADINGS = ("entry", "when (UTC)", "who", "kind", "epsilon", "what", "decision", "receipt")
SHOWN = 12
"""Number of digits of a receipt that a table shows; `to_dict` has all of them."""


@dataclass(frozen=True, slots=True)
class History:
    """The lines of a population's ledger that were asked for, the newest last.

    Print it, or show it in a notebook; `to_dict` is for JSON. ``more`` says that older lines
    fit too, and were left out by the limit.

    Example:
        >>> line = HistoryLine(7, 0, "ann", "charge", "question 3f", epsilon="0.2")
        >>> print(History("patients", (line,)))
        entry  when (UTC)           who  kind    epsilon  what         decision  receipt
            7  1970-01-01 00:00:00  ann  charge      0.2  question 3f
    """

    population: str
    lines: tuple[HistoryLine, ...]
    more: bool = False

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[HistoryLine]:
        return iter(self.lines)

    def __getitem__(self, place: int) -> HistoryLine:
        return self.lines[place]

    def __str__(self) -> str:
        if not self.lines:
            return f"No entry of the ledger of {safe(self.population)} fits."
        rows = [HEADINGS, *(tuple(safe(each) for each in _cells(line)) for line in self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        right = (True, False, False, False, True, False, False, False)
        printed = [
            "  ".join(
                text.rjust(width) if number else text.ljust(width)
                for text, width, number in zip(row, widths, right, strict=True)
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*printed, *self._notes()])

    def _notes(self) -> list[str]:
        costs = [line.cost for line in self.lines if line.cost is not None]
        parts = len(costs) > 1 and costs[0].measure is Measure.ZCDP
        older = f"… older entries fit too; these are the newest {len(self.lines)}"
        return [*([NOT_ADDED] if parts else []), *([older] if self.more else [])]

    def _repr_html_(self) -> str:
        cells = (
            zip(*map(_cells, self.lines), strict=True) if self.lines else [()] * len(HEADINGS)
        )
        columns = [
            _TextColumn(name, tuple(values))
            for name, values in zip(HEADINGS, cells, strict=True)
        ]
        return html(columns, self._notes())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        lines = [line.to_dict() for line in self.lines]
        return {"population": self.population, "lines": lines, "more": self.more}

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Self:
        """Return the history from the values of `to_dict`."""
        lines = tuple(map(HistoryLine.from_dict, told["lines"]))
        return cls(told["population"], lines, told["more"])


@dataclass(frozen=True, slots=True)
class _TextColumn:
    """A column of texts, as `tacit.render` shows it."""

    name: str
    values: tuple[str, ...]
    intervals: Sequence[Any] = ()
    confidence: Fraction | None = None
    all_but: int | None = None


def _cells(line: HistoryLine) -> tuple[str, ...]:
    epsilon = line.epsilon or ""
    told = (line.who, line.kind, epsilon, line.what, line.decision)
    return (str(line.entry), line.when, *told, (line.receipt or "")[:SHOWN])


# ------------------------------------------------------------------ reading
# The chain is read from its end. The entry that settles a proposal, a request or a charge
# stands after it in the chain, and so is known when its line is made. Whether a charge was
# answered is asked of the stored answers, because a chain has as many entries about answers as
# about charges.


def read_history(
    store: Store, population: str, wanted: HistoryFilter = ALL, now: int = 0
) -> History:
    """Return the entries of a population's chain that are ``wanted``, in words.

    ``now`` is the time at which proposals are waiting or have lapsed.

    Raises:
        UnknownName: No charge of this population has the receipt that is wanted.
    """
    with store.reading() as work:
        budget = find_budget(work, population)
        waiting = frozenset(seq for (seq,) in work.all(_WAITING, {"at": population}))
        writer = _LineWriter(work, population, budget, waiting, now)
        if wanted.receipt is not None:
            place = _place_of(work, population, wanted.receipt)
            return History(population, _line_of_charge(writer, place, wanted))
        listeners = writer.listeners()
        kinds = {name for name, kind in NAMES.items() if wanted.has_kind(kind)}
        named = None if wanted.analyst is None else json.dumps(wanted.analyst)
        found: list[HistoryLine] = []
        older, too_old = 0, wanted.too_old
        reading = backwards(
            work,
            population,
            answers="kept" in kinds,
            charges=CHARGED in kinds or too_old > 0,
            named=named if too_old <= 0 else None,
        )
        for seq, body in reading:
            if too_old > 0:
                at = _AT.search(body)
                older = older + 1 if at is not None and int(at[1]) < too_old else 0
                if older == PAGE:
                    break
            kind = kind_in(body)
            listen, fits = listeners.get(kind), kind in kinds
            fits = fits and wanted.may_have(body, named)
            if not fits and listen is None:
                continue
            act: Any = acts.decode_act(body)
            if listen is not None:
                listen(seq, act)
            if fits and wanted.has(act):
                if len(found) == wanted.limit:
                    return History(population, tuple(reversed(found)), more=True)
                found.append(writer.line(seq, act, NAMES.get(kind, kind)))
    return History(population, tuple(reversed(found)))


def _line_of_charge(
    writer: "_LineWriter", place: int, wanted: HistoryFilter
) -> tuple[HistoryLine, ...]:
    """Return the line of the charge in an entry, if the other filters want it too.

    Of the later entries only incidents say something about a charge, so that nothing is read
    after the oldest one of them.
    """
    work, population = writer.work, writer.population
    kind = NAMES[CHARGED]
    act: Any = acts.decode_act(writer.entry(place)[0])
    if not wanted.has_kind(kind) or not wanted.has(act):
        return ()
    left, listeners = count_incidents(work, population), writer.listeners()
    for seq, body in backwards(work, population, place + 1, answers=False) if left else ():
        name = kind_in(body)
        if name in MARKS:
            listeners[name](seq, acts.decode_act(body))
            left -= 1
        if not left:
            break
    return (writer.line(place, act, kind),)


def _place_of(work: Work, population: str, receipt: str) -> int:
    """Return the number of the charge with a receipt in the chain of a population."""
    digest = bytes.fromhex(receipt)
    for name, seq, body in work.all(_WITH_HASH, {"hash": digest, "after": 0}):
        if name == population and kind_in(body) == CHARGED:
            return int(seq)
    for part in joint_entries(work, digest):
        if part.population == population:
            return part.seq
    raise UnknownName(
        f"No charge about {safe(population)} has the receipt {receipt}. Check that the ledger "
        "and the population are those of the answer."
    )


def receipt_of_charge(work: Work, act: acts.Charged, own: bytes) -> tuple[str | None, bool]:
    """Return the receipt of a charge if it is known, and whether its answer is stored.

    ``own`` is the hash of its entry. A charge of several populations has the receipt that is
    stored with its answer.
    """
    row = work.one(_ANSWER, {"release": bytes.fromhex(act.release)})
    if len(act.populations) == 1:
        return own.hex(), row is not None and bytes(row[0]) == own and bool(row[1])
    return (None, False) if row is None else (bytes(row[0]).hex(), bool(row[1]))


@dataclass(slots=True)
class _LineWriter:
    """Writes the lines of one population, and remembers what later entries say of earlier."""

    work: Work
    population: str
    budget: BudgetRow
    waiting: frozenset[int]
    now: int
    said: dict[int, list[str]] = field(default_factory=dict)
    """Words of later entries about a charge, a proposal or a request, by its number."""
    lowered: bool = False
    """Whether a later entry lowered the cap, so that the cap at this place is not known."""
    raised: Units = NO_UNITS
    """The sum of the raises of the cap that took effect later."""

    def listeners(self) -> dict[str, Callable[[int, Any], None]]:
        """Return the functions that remember an entry, by the stored names of kinds."""
        return {
            "missed": lambda _, act: self._say(act.charge, "late"),
            "failed": lambda _, act: self._say(act.charge, "failed"),
            "retried": lambda _, act: self._say(act.charge, "run twice"),
            "approved": self._note_approval,
            "proposal withdrawn": lambda _, act: self._say(
                act.proposal, f"withdrawn by {act.by}"
            ),
            "proposed": self._note_proposal,
            "quota set": lambda _, act: self._say(act.request, f"granted by {act.by}"),
            "quota declined": lambda _, act: self._say(act.request, f"declined by {act.by}"),
            "cap lowered": self._note_lower_cap,
        }

    def _say(self, number: int, what: str) -> None:
        if number:
            self.said.setdefault(number, []).append(what)

    def _note_approval(self, _: int, act: acts.Approved) -> None:
        self._say(act.proposal, f"approved by {act.by}")
        self._undo(acts.decode_act(self.entry(act.proposal)[0]))

    def entry(self, seq: int) -> tuple[str, bytes]:
        """Return the text and the hash of an entry of this chain."""
        row = self.work.one(_ENTRY, {"at": self.population, "place": seq})
        if row is None:
            raise LedgerBroken(
                f"The chain of {self.population!r} has no entry {seq}. Verify it with "
                "`tacit ledger verify`, and restore the ledger from a backup."
            )
        return str(row[0]), bytes(row[1])

    def _note_proposal(self, seq: int, act: acts.Proposed) -> None:
        if seq not in self.waiting and seq not in self.said:
            self._undo(act)  # one owner alone, so that it took effect at once

    def _undo(self, act: acts.Act | acts.Decision) -> None:
        if isinstance(act, acts.Proposed) and isinstance(act.decision, acts.CapRaised):
            self.raised += Units(act.decision.amount, act.decision.delta)

    def _note_lower_cap(self, *_: object) -> None:
        self.lowered = True

    def line(self, seq: int, act: acts.Act, kind: str) -> HistoryLine:
        """Return the line of an entry."""
        cost, receipt, answered = None, None, False
        if isinstance(act, acts.Charged | acts.Inherited | Restored):
            cost = self._texts.loss(Units(act.amount, act.delta))
        if isinstance(act, acts.Charged):
            _, own = self.entry(seq)
            receipt, answered = receipt_of_charge(self.work, act, own)
        told = list(reversed(self.said.get(seq, ())))
        told += ["answered"] if answered else []
        return HistoryLine(
            seq,
            getattr(act, "at", None),
            getattr(act, "by", None) or getattr(act, "principal", None) or "",
            kind,
            self._texts.words(act, self._cap),
            cost,
            None if cost is None else epsilon_text(cost, self._texts.conversion_delta),
            "; ".join(told) or self._without_decision(seq, act),
            receipt,
        )

    @property
    def _cap(self) -> Units | None:
        """The cap before the entry that is read."""
        now = Units(self.budget.cap_amount, self.budget.cap_delta)
        return None if self.lowered else now - self.raised

    @property
    def _texts(self) -> AmountTexts:
        return AmountTexts(self.budget.measure, Fraction(self.budget.conversion_delta))

    def _without_decision(self, seq: int, act: acts.Act) -> str:
        """Return what is to say of an entry that no later entry names."""
        match act:
            case acts.Charged():
                return "no answer"
            case acts.Proposed():
                if seq not in self.waiting:
                    return "in effect"
                if 0 < act.lapses <= self.now:
                    return f"lapsed on {time_text(act.lapses)}"
                until = f" until {time_text(act.lapses)}" if act.lapses else ""
                return f"waits for a second owner{until}"
            case acts.QuotaRequested():
                return "waits for an owner"
        return ""
