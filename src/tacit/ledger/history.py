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
from functools import lru_cache
from typing import Any, Self, get_args

from sqlalchemy import bindparam, select

from tacit.accounting import show_loss, to_approximate_dp
from tacit.core import Loss, Measure, amount_text, decode_loss, encode_loss, loss_text
from tacit.errors import InvalidValue
from tacit.ledger import entries as acts
from tacit.ledger.budget import BudgetRow, find_budget
from tacit.ledger.chain import PAGE
from tacit.ledger.chain_acts import Checkpointed, Restored
from tacit.ledger.charge import MOST, Units
from tacit.ledger.owner_acts import (
    Attested,
    KeySet,
    SignInsEnded,
    SignInsTrusted,
    fingerprint,
)
from tacit.numeric import exact, plain
from tacit.render import html, safe
from tacit.store import Store, Work
from tacit.store.tables import entries, proposals

USUAL_LIMIT = 50
"""Number of lines that are returned if nobody asks for more."""

DAY = "2026-11-19"
"""An example of a day, for messages."""

MOST_LINES = 100_000
"""Largest number of lines of one history."""

KINDS: dict[type, str] = {
    acts.Opened: "opening",
    acts.Charged: "charge",
    acts.AnswerStored: "answer",
    acts.Missed: "late",
    acts.Retried: "retry",
    acts.Failed: "failure",
    acts.Looked: "review",
    acts.StateSealed: "state",
    acts.QuotaSet: "quota",
    acts.DefaultQuotaSet: "quota",
    acts.LeastSet: "least price",
    acts.QuotaRequested: "request",
    acts.QuotaDeclined: "request",
    acts.Joined: "team",
    acts.MemberRemoved: "team",
    acts.FactsDeclared: "declaration",
    acts.Described: "declaration",
    acts.Inherited: "inheritance",
    acts.Frozen: "freeze",
    acts.Thawed: "thaw",
    Checkpointed: "checkpoint",
    Restored: "restore",
    acts.CapLowered: "cap",
    acts.Proposed: "proposal",
    acts.Approved: "approval",
    acts.ProposalWithdrawn: "withdrawal",
    Attested: "signature",
}
"""The kind of each entry in a history. An act that is not listed has its stored name."""

COMPLETING = frozenset({"answer", "state", "checkpoint", "signature"})
"""Kinds that have a line only if they are asked for."""

NAMES = {
    name: KINDS.get(act, name)
    for name, act in acts.ACTS.items()
    if act not in get_args(acts.Decision)  # which are parts of proposals
}
"""The kind in a history, by the stored name of an act."""

_KIND = '"kind":"'
_AT, _CHARGE = re.compile(r'"at":"([0-9]+)"'), re.compile(r'"charge":"([0-9]+)"')
_PAGE_BEFORE = (
    select(entries.c.seq, entries.c.body)
    .where(entries.c.population == bindparam("at"), entries.c.seq < bindparam("before"))
    .order_by(entries.c.seq.desc())
    .limit(bindparam("count"))
)
_WAITING = select(proposals.c.seq).where(proposals.c.population == bindparam("at"))


def time_text(at: int) -> str:
    """Return a time in milliseconds since 1970 as a day and a time in UTC.

    Example:
        >>> time_text(86_400_000)
        '1970-01-02 00:00:00'
    """
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


# ------------------------------------------------------------------ what is wanted


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which entries a history has. Days are in UTC, and both of them are included.

    ``analyst`` is the name of a person or a team: entries by them, or about them. Of the
    entries that fit, the newest ``limit`` are returned.
    """

    analyst: str | None = None
    kinds: frozenset[str] = frozenset()
    since: date | None = None
    until: date | None = None
    limit: int = USUAL_LIMIT

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

    def has_kind(self, kind: str) -> bool:
        """Return whether entries of ``kind`` are wanted."""
        return kind in self.kinds if self.kinds else kind not in COMPLETING

    def may_have(self, body: str) -> bool:
        """Return False if the entry with the text ``body`` is not wanted, without decoding it.

        Most entries of a long chain are left out by this, which is ten times faster.
        """
        if self.analyst is not None and json.dumps(self.analyst) not in body:
            return False
        at = _AT.search(body) if self.since or self.until else None
        return at is None or self._has_time(int(at[1]))

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
    def of(
        cls,
        *,
        analyst: str | None = None,
        kind: str | Sequence[str] = (),
        since: date | str | None = None,
        until: date | str | None = None,
        limit: int = USUAL_LIMIT,
    ) -> Self:
        """Return the filter that people write: a kind or several, and days as dates or text.

        Example:
            >>> HistoryFilter.of(kind="charge", since="2026-11-01").since
            datetime.date(2026, 11, 1)
        """
        kinds = frozenset([kind] if isinstance(kind, str) else kind)
        return cls(analyst, kinds, _day(since), _day(until), limit)

    def to_query(self) -> list[tuple[str, str]]:
        """Return the filter as the query of a url.

        Example:
            >>> HistoryFilter.of(analyst="ann", limit=5).to_query()
            [('analyst', 'ann'), ('limit', '5')]
        """
        given = [("analyst", self.analyst), *(("kind", each) for each in sorted(self.kinds))]
        days = [("since", self.since), ("until", self.until)]
        named = [(name, str(value)) for name, value in (*given, *days) if value is not None]
        return [*named, ("limit", str(self.limit))]


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
        }

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Self:
        """Return the line from the values of `to_dict`."""
        names = ("entry", "at", "who", "kind", "what", "epsilon", "decision")
        cost = None if told["cost"] is None else decode_loss(told["cost"])
        return cls(**{name: told[name] for name in names}, cost=cost)


HEADINGS = ("entry", "when (UTC)", "who", "kind", "epsilon", "what", "decision")


@dataclass(frozen=True, slots=True)
class History:
    """The lines of a population's ledger that were asked for, the newest last.

    Print it, or show it in a notebook; `to_dict` is for JSON. ``more`` says that older lines
    fit too, and were left out by the limit.

    Example:
        >>> line = HistoryLine(7, 0, "ann", "charge", "question 3f", epsilon="0.2")
        >>> print(History("patients", (line,)))
        entry  when (UTC)           who  kind    epsilon  what         decision
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
        right = (True, False, False, False, True, False, False)
        printed = [
            "  ".join(
                text.rjust(width) if number else text.ljust(width)
                for text, width, number in zip(row, widths, right, strict=True)
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*printed, *self._notes()])

    def _notes(self) -> list[str]:
        if not self.more:
            return []
        return [f"… older entries fit too; these are the newest {len(self.lines)}"]

    def _repr_html_(self) -> str:
        cells = zip(*map(_cells, self.lines), strict=True) if self.lines else [()] * 7
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
    return (str(line.entry), line.when, line.who, line.kind, epsilon, line.what, line.decision)


# ------------------------------------------------------------------ reading
# The chain is read from its end. The answer to a charge and the approval of a proposal stand
# after them in the chain, and so are known when the line of the charge or proposal is made.


def read_history(
    store: Store, population: str, wanted: HistoryFilter = ALL, now: int = 0
) -> History:
    """Return the entries of a population's chain that are ``wanted``, in words.

    ``now`` is the time at which proposals are waiting or have lapsed.
    """
    with store.reading() as work:
        budget = find_budget(work, population)
        waiting = frozenset(seq for (seq,) in work.all(_WAITING, {"at": population}))
        writer = _LineWriter(budget, waiting, now)
        listeners = writer.listeners()
        found: list[HistoryLine] = []
        for seq, body in _backwards(work, population):
            # texts are escaped, and the kind of a decision comes before that of an act
            kind = body[body.rindex(_KIND) + len(_KIND) :].split('"', 1)[0]
            if kind == "kept":
                writer.answered.add(int(_CHARGE.findall(body)[0]))
            listen, fits = listeners.get(kind), wanted.has_kind(NAMES.get(kind, kind))
            fits = fits and wanted.may_have(body)
            if not fits and listen is None:
                continue
            act: Any = acts.decode_act(body)
            if listen is not None:
                listen(act)
            if fits and wanted.has(act):
                if len(found) == wanted.limit:
                    return History(population, tuple(reversed(found)), more=True)
                found.append(writer.line(seq, act, NAMES.get(kind, kind)))
    return History(population, tuple(reversed(found)))


def _backwards(work: Work, population: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers and texts of the chain's entries, the newest first."""
    before = MOST
    while rows := work.all(_PAGE_BEFORE, {"at": population, "before": before, "count": PAGE}):
        for before, body in rows:
            yield before, body


@dataclass(slots=True)
class _LineWriter:
    """Writes the lines of one population, and remembers what later entries say of earlier."""

    budget: BudgetRow
    waiting: frozenset[int]
    now: int
    said: dict[int, list[str]] = field(default_factory=dict)
    """Words of later entries about a charge, a proposal or a request, by its number."""
    answered: set[int] = field(default_factory=set)
    """Numbers of the charges whose answers were stored."""

    def listeners(self) -> dict[str, Callable[[Any], None]]:
        """Return the functions that remember an entry, by the stored names of kinds."""
        return {
            "missed": lambda act: self._say(act.charge, "late"),
            "failed": lambda act: self._say(act.charge, "failed"),
            "retried": lambda act: self._say(act.charge, "run twice"),
            "approved": lambda act: self._say(act.proposal, f"approved by {act.by}"),
            "proposal withdrawn": lambda act: self._say(act.proposal, f"withdrawn by {act.by}"),
            "quota set": lambda act: self._say(act.request, f"granted by {act.by}"),
            "quota declined": lambda act: self._say(act.request, f"declined by {act.by}"),
        }

    def _say(self, number: int, what: str) -> None:
        if number:
            self.said.setdefault(number, []).append(what)

    def line(self, seq: int, act: acts.Act, kind: str) -> HistoryLine:
        """Return the line of an entry."""
        cost = None
        if isinstance(act, acts.Charged | acts.Inherited | Restored):
            cost = Units(act.amount, act.delta).loss(self._measure)
        return HistoryLine(
            seq,
            getattr(act, "at", None),
            getattr(act, "by", None) or getattr(act, "principal", None) or "",
            kind,
            _words(act, self._amount_text, self._total, self._measure),
            cost,
            None if cost is None else self._epsilon(cost),
            "; ".join(self._words_about(seq)) or self._without_decision(seq, act),
        )

    def _words_about(self, seq: int) -> list[str]:
        """Return the words of later entries about an entry, in the order of the chain."""
        found = list(reversed(self.said.get(seq, ())))
        return [*found, "answered"] if seq in self.answered else found

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

    @property
    def _measure(self) -> Measure:
        return self.budget.measure

    def _epsilon(self, loss: Loss) -> str:
        return _epsilon_text(loss, Fraction(self.budget.conversion_delta))

    def _amount_text(self, amount: int, delta: int) -> str:
        """Return an amount as text, with its epsilon first."""
        loss = Units(amount, delta).loss(self._measure)
        return show_loss(loss, Fraction(self.budget.conversion_delta))

    def _total(self, amount: int, delta: int) -> str:
        """Return a cap as the epsilon and delta that it guarantees."""
        cap = Units(amount, delta).loss(self._measure)
        return loss_text(to_approximate_dp(cap, Fraction(self.budget.conversion_delta)))


# ------------------------------------------------------------------ words


@lru_cache(maxsize=1024)
def _epsilon_text(loss: Loss, conversion_delta: Fraction) -> str:
    return amount_text(to_approximate_dp(loss, conversion_delta).amount)


Amounts = Callable[[int, int], str]
"""A function from an amount and a delta in units to text."""

SHORT = 8
"""Number of digits by which questions are distinguished in a history."""


def _words(act: acts.Act, shown: Amounts, total: Amounts, measure: Measure) -> str:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """Return in a few words what an entry says, without its kind, its cost and who acted."""
    match act:
        case acts.Opened():
            owned = ", ".join(act.owners)
            amount = total(act.amount, act.delta)
            return f"budget of {amount} for each {act.unit}, owned by {owned}"
        case acts.Charged():
            others = len(act.populations) - 1
            joint = f", with {_count(others, 'other population')}" if others else ""
            return f"question {act.plan[:SHORT]}{joint}"
        case acts.AnswerStored() | acts.Missed() | acts.Retried() | acts.Failed():
            return f"of charge {act.charge}"
        case acts.Looked():
            return "late and failed answers reviewed"
        case acts.StateSealed():
            return f"state {act.state[:SHORT]}, version {act.version}"
        case acts.QuotaSet():
            return f"quota of {act.holder}: {shown(act.amount, act.delta)}"
        case acts.DefaultQuotaSet():
            return f"quota of analysts without one: {shown(act.amount, act.delta)}"
        case acts.LeastSet():
            return f"a question costs at least {plain(exact(act.share))} of the cap"
        case acts.QuotaRequested():
            why = f": {act.reason}" if act.reason else ""
            return f"{shown(act.amount, act.delta)} for {act.holder}{why}"
        case acts.QuotaDeclined():
            return f"request {act.request} declined"
        case acts.Joined():
            return f"{act.principal} joined {act.group}"
        case acts.MemberRemoved():
            return f"{act.principal} left {act.group}"
        case acts.FactsDeclared():
            return _count(len(act.facts), "fact")
        case acts.Described():
            return f"{_count(len(act.facts), 'fact')}, {_count(len(act.tables), 'table')}"
        case acts.Inherited():
            return f"from {act.source}, on the same tables"
        case acts.Frozen():
            return "all charges stopped"
        case acts.Thawed():
            return "charges allowed again"
        case Checkpointed():
            return f"state {act.state[:SHORT]}"
        case Restored():
            return f"an older copy was restored; entry {act.place} is lost"
        case acts.CapLowered():
            why = f": {act.reason}" if act.reason else ""
            return f"lower the cap to {total(act.amount, act.delta)}{why}"
        case acts.Proposed():
            return describe_decision(act.decision, measure)
        case Attested():
            return f"of entry {act.entry}"
        case acts.Approved() | acts.ProposalWithdrawn():
            return f"of proposal {act.proposal}"


def describe_decision(decision: acts.Decision, measure: Measure) -> str:
    """Return a decision in words.

    A raise is in the measure of the budget: the epsilon of a part of a cap in rho is not the
    epsilon by which the cap is raised.
    """
    match decision:
        case acts.CapRaised():
            amount = loss_text(Units(decision.amount, decision.delta).loss(measure))
            return f"raise the cap by {amount}: {decision.reason}"
        case acts.OwnerAdded():
            return f"add the owner {decision.owner}"
        case acts.OwnerRemoved():
            return f"remove the owner {decision.owner}"
        case KeySet():
            return f"set the key of {decision.owner}"  # its fingerprint must come from there
        case SignInsTrusted():
            return f"trust sign-ins at {decision.issuer}"
        case SignInsEnded():
            return f"end the trust in the sign-ins of server {fingerprint(decision.key)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
