"""The oversight of a population by owners and auditors: spending, documents and anchors.

Everything here is read from the ledger and its anchors; no engine is used.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from math import ceil
from statistics import median_low
from typing import Any

from tacit.accounting import quick_pairs, show_loss
from tacit.certify import (
    CERTIFICATE,
    AnchorCheck,
    Given,
    SignedPage,
    Stated,
    Statement,
    check_record,
    newest_assumptions,
    read_population,
    record_of,
    report_page,
    verify_certificate,
    yaml_of,
)
from tacit.core import decode_release, encode_loss
from tacit.errors import InvalidValue, TacitError
from tacit.ledger import Anchor, Ledger, Restored, Status, Units, entries, utc_day
from tacit.session.certificates import audits_in, installation_key
from tacit.session.curator import LedgerFolder
from tacit.store import GivenAnswers

MOST_POINTS = 92
"""Largest number of points over time; with more days, a point is several days."""

RATE_DAYS = 28
"""Number of days whose rate the forecast assumes."""

MOST_DECODED = 2000
"""Largest number of stored answers that are read for the names of their tables."""

MOST_NAMED = 50
"""Largest number of analysts, or of sets of tables, that are listed; the rest is one line."""

MOST_ENTRIES = 2**62
"""A chain has fewer entries than this."""

FAR = 3650
"""Days beyond which a forecast names no date."""


# ------------------------------------------------------------------ spending


@dataclass(slots=True)
class Spending:
    """The spending of a budget over time, by analyst and by the tables that were read.

    Shares are of the budget's rho or epsilon, and add up.
    """

    status: Status
    today: date
    opened: date
    on: Counter[date] = field(default_factory=Counter)
    by: Counter[str] = field(default_factory=Counter)
    about: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """By the names of the tables; those of fits, streams and lost answers are not known."""
    costs: list[int] = field(default_factory=list)
    inherited: int = 0

    def share(self, amount: int) -> dict[str, Any]:
        """Return an amount in units as a share of the cap, exactly and as a number."""
        found = Fraction(amount, self.status.cap_units.amount)
        return {"exact": str(found), "value": float(found)}

    def cost_text(self, amount: int) -> str:
        """Return an amount in units as text, epsilon first."""
        loss = Units(amount, 0).loss(self.status.measure)
        return show_loss(loss, self.status.conversion_delta)

    @property
    def left(self) -> int:
        """The units that are left."""
        return max(0, self.status.cap_units.amount - self.status.spent_units.amount)

    def points(self) -> list[dict[str, Any]]:
        """Return what was spent in each span of days, and in all so far."""
        days = (self.today - self.opened).days + 1
        span = ceil(days / MOST_POINTS)
        found, total = [], 0
        for first in range(0, days, span):
            start = self.opened + timedelta(first)
            spent = sum(self.on[start + timedelta(more)] for more in range(span))
            total += spent
            until = min(start + timedelta(span - 1), self.today)
            found.append(
                {
                    "from": start.isoformat(),
                    "until": until.isoformat(),
                    "spent": self.share(spent),
                    "total": self.share(total),
                }
            )
        return found

    def forecast(self) -> dict[str, Any]:
        """Return how long the budget lasts at the rate of the last 28 days, with a sentence."""
        known = min(RATE_DAYS, (self.today - self.opened).days + 1)
        recent = sum(self.on[self.today - timedelta(back)] for back in range(known))
        days, until = None, None
        if not self.left:
            said = "Nothing is left of the budget."
        elif not recent:
            said = f"Nothing was spent in the last {_days(known)}, so that no end is foreseen."
        else:
            days = self.left * known // recent
            said = f"At the rate of the last {_days(known)}, the budget lasts "
            if days > FAR:
                said += "for more than ten years."
            else:
                until = (self.today + timedelta(days)).isoformat()
                said += f"about {_days(days)}, until {until}."
        return {"days": days, "until": until, "rate": self.share(recent), "sentence": said}

    def questions_left(self) -> dict[str, Any]:
        """Return how many questions of the usual price are left, with a sentence."""
        if not self.costs:
            return {"count": None, "each": None, "sentence": "No question was charged yet."}
        usual = median_low(self.costs)
        count = self.left // usual
        fit = "1 question like those asked fits" if count == 1 else None
        said = f"{fit or f'{count} questions like those asked fit'}: the usual one costs "
        return {
            "count": count,
            "each": self.share(usual),
            "sentence": f"{said}{self.cost_text(usual)}.",
        }

    def odds(self) -> dict[str, Any]:
        """Return in how many of 100 tries an attacker is right: now, and at the cap."""
        now, cap = (
            ceil(100 * quick_pairs(each)) for each in (self.status.spent, self.status.cap)
        )
        said = (
            f"The best attacker, who knows everyone else's data, tells whether one person's "
            f"data was used in at most {now} of 100 tries now, and in {cap} when the whole "
            "budget is spent. A guess is right in 50."
        )
        return {"guess": 50, "now": now, "cap": cap, "sentence": said}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        status = self.status
        return {
            "population": status.population,
            "cap": encode_loss(status.cap),
            "spent": self.share(status.spent_units.amount),
            "left": self.share(self.left),
            "inherited": self.share(self.inherited),
            "points": self.points(),
            "analysts": [
                {"principal": name, "spent": self.share(spent)}
                for name, spent in _largest(self.by, None)
            ],
            "datasets": [
                {"datasets": None if names is None else list(names), "spent": self.share(spent)}
                for names, spent in _largest(self.about, None)
            ],
            "questions_left": self.questions_left(),
            "forecast": self.forecast(),
            "odds": self.odds(),
        }


def _days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"


def _largest(counted: Counter[Any], rest: Any) -> list[tuple[Any, int]]:
    """Return the largest sums first; those beyond the most are one line, ``rest``."""
    found = sorted(counted.items(), key=lambda pair: (-pair[1], str(pair[0])))
    if len(found) <= MOST_NAMED:
        return [(each or rest, spent) for each, spent in found]
    others = sum(spent for _, spent in found[MOST_NAMED:])
    return [*((each or rest, spent) for each, spent in found[:MOST_NAMED]), (rest, others)]


def spending(home: LedgerFolder, population: str) -> Spending:
    """Return what was spent of a population's budget; the chain is read once."""
    ledger = home.ledger
    known = _tables_by_release(home, population)
    found: Spending | None = None
    decoded = 0
    for act in _acts(ledger, population):
        if isinstance(act, entries.Opened):
            today = ledger.today()
            found = Spending(ledger.status(population), today, min(today, _day(act.at, today)))
        if found is None:
            continue
        match act:
            case entries.Charged():
                day = max(found.opened, min(found.today, _day(act.at, found.today)))
                found.on[day] += act.amount
                found.by[act.principal] += act.amount
                if act.amount:
                    found.costs.append(act.amount)
                if act.release not in known and decoded < MOST_DECODED:
                    decoded += 1
                    known[act.release] = _tables_in(ledger, act.release)
                found.about[known.get(act.release, ())] += act.amount
            case entries.Inherited() | Restored():
                found.inherited += act.amount
                found.on[_day(act.at, found.today)] += act.amount
    if found is None:
        raise InvalidValue(f"The chain of {population!r} has no opening. Restore the ledger.")
    return found


def _day(at: int, otherwise: date) -> date:
    return utc_day(at) or otherwise


def _acts(ledger: Ledger, population: str) -> Iterator[Any]:
    after = 0
    while page := ledger.entries(population, after):
        yield from (entries.decode_act(each.body) for each in page)
        after = page[-1].seq


def _tables_by_release(home: LedgerFolder, population: str) -> dict[str, tuple[str, ...]]:
    """Return the tables of the answers that a server listed, by the keys of releases."""
    listed = GivenAnswers(home.store, home.states).newest(population, lambda _: True)
    return {each.release_key.hex(): tuple(sorted(set(each.datasets))) for each in listed}


def _tables_in(ledger: Ledger, release: str) -> tuple[str, ...]:
    """Return the tables that a stored answer names; none if there is no such answer."""
    body = ledger.stored_body(bytes.fromhex(release))
    try:
        dates = None if body is None else decode_release(body).dates
    except InvalidValue:  # a step of a stream, or a share of a holdout
        dates = None
    return () if dates is None else tuple(sorted({each.table for each in dates.epochs}))


# ------------------------------------------------------------------ documents


def write_report(home: LedgerFolder, population: str, publications: Iterable[str] = ()) -> str:
    """Return the signed page about a population for a board; its chain is verified."""
    facts, key = read_population(home.ledger, population), installation_key(home)
    given = Given(
        made=home.ledger.now(),
        assumptions=newest_assumptions(facts, home.ledger),
        audits=tuple(audits_in(home.private_folder, key)),
        attacks=(),
        publications=tuple(publications),
        anchored=newest_anchor_of(home, population),
    )
    return SignedPage.sign(report_page(facts, given, key.public.hex()), key)


def newest_anchor_of(home: LedgerFolder, population: str) -> AnchorCheck | None:
    """Return the newest anchor of a chain, with which it was compared when it was opened."""
    newest = None if home.anchors is None else home.anchors.newest
    head = None if newest is None else newest.head(population)
    if newest is None or head is None:
        return None
    return AnchorCheck(head.seq, newest.at, home.ledger.now())


def write_registry_record(home: LedgerFolder, population: str, publications: int = 0) -> str:
    """Return the record of a population for the registry of deployments, as YAML.

    It says where nothing was stated, because a ledger does not know every field.
    """
    facts = read_population(home.ledger, population)
    record = record_of(facts, Stated(), publications)
    check_record(record)
    return yaml_of(record)


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """The result of the check of a signed document.

    ``ours`` says whether this installation signed it. ``in_chain`` is None unless it is a
    certificate about a population of the ledger that the caller may read.
    """

    whole: bool
    kind: str
    sentence: str
    key: str = ""
    ours: bool = False
    population: str = ""
    entry: int = 0
    in_chain: bool | None = None


def check_document(
    home: LedgerFolder, text: str, populations: Iterable[str]
) -> CheckedDocument:
    """Check a signed document: that it is whole, who signed it, and its place in the chain.

    Only chains of ``populations`` are read.
    """
    try:
        if text.lstrip().startswith("<"):
            page = SignedPage.of(text)
            return _describe(home, page.kind or "page", page.key)
        statement = Statement.of(text)
        if statement.kind != CERTIFICATE:
            return _describe(home, statement.kind, statement.key)
        verify_certificate(text)
    except InvalidValue as error:
        return CheckedDocument(False, "", str(error))
    chain = statement.content["chain"]
    name, seq, hash_ = str(chain["population"]), chain["entry"], str(chain["hash"])
    if not isinstance(seq, int) or not 0 < seq < MOST_ENTRIES:
        said = "The document names an entry that no chain can have. Do not trust it."
        return CheckedDocument(False, "", said)
    there: bool | None = None
    if name in set(populations):
        page_of = home.ledger.entries(name, seq - 1)
        there = bool(page_of) and page_of[0].seq == seq and page_of[0].hash.hex() == hash_
    return _describe(home, statement.kind, statement.key, name, seq, there=there)


def _describe(  # noqa: PLR0913 - what was found
    home: LedgerFolder,
    kind: str,
    key: str,
    population: str = "",
    entry: int = 0,
    *,
    there: bool | None = None,
) -> CheckedDocument:
    ours = home.private_folder is not None and installation_key(home).public.hex() == key
    signer = "this installation" if ours else "another key: ask the owner whose it is"
    said = f"The document is unchanged. It is signed by {signer}."
    if there is not None:
        place = "has" if there else "does not have"
        said += f" The chain of {population} {place} this charge as entry {entry}."
    return CheckedDocument(True, kind, said, key, ours, population, entry, there)


# ------------------------------------------------------------------ anchors


def anchor_state(home: LedgerFolder, population: str) -> dict[str, Any]:
    """Return the age of the newest anchor, and whether the chain agrees with it."""
    told: dict[str, Any] = {"population": population, "kept": home.place is not None}
    missing = {"at": None, "age_seconds": None, "entry": None, "entries_since": None}
    if home.place is None:
        said = "This ledger keeps no anchors: the project file names no place for them."
        return told | missing | {"agrees": None, "sentence": said}
    try:
        line = home.place.newest()
        anchor = None if line is None else Anchor.of(line)
    except TacitError:
        said = "The newest anchor cannot be read. Ask the operator to look at its place."
        return told | missing | {"agrees": False, "sentence": said}
    head = None if anchor is None else anchor.head(population)
    if anchor is None or head is None:
        said = f"No anchor has the chain of {population} yet."
        return told | missing | {"agrees": None, "sentence": said}
    found = home.ledger.entries(population, head.seq - 1)
    agrees = bool(found) and found[0].seq == head.seq and found[0].hash == head.hash
    newest = home.ledger.chain_ends().get(population, 0)
    age = max(0, home.ledger.now() - anchor.at) // 1000 if anchor.at else None
    said = (
        f"The chain of {population} agrees with its newest anchor, of entry {head.seq}."
        if agrees
        else f"The chain of {population} differs from its newest anchor: it was changed, or an "
        "older copy was put in its place. Stop the server, and restore the ledger."
    )
    return told | {
        "at": anchor.at or None,
        "age_seconds": age,
        "entry": head.seq,
        "entries_since": max(0, newest - head.seq),
        "agrees": agrees,
        "sentence": said,
    }
