"""The hazards of a deployment, from the top of the pyramid of NIST SP 800-226 to its base.

SP 800-226 orders what a guarantee rests on: at the top its parameters and the unit of privacy,
below them the algorithms, the trust in people and machines, the security of the data, and at
the base how the data was collected. Each part holds only if the parts below it hold. A hazard
is
*kept* if the ledger, an audit or an attack shows that it was met, and *open* if people must
judge it, or if the evidence is missing. Nothing is kept by the word of this software alone
where the ledger can show otherwise.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.accounting import AttackOdds
from tacit.certify.certificate_page import percent
from tacit.certify.fact_words import fact_texts
from tacit.certify.population_facts import PopulationFacts
from tacit.numeric import plain
from tacit.render import spell

TELLING = Fraction(9, 10)
"""The AUC at the cap from which on owners must say why they accept it."""

EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Hazard:
    """A hazard, whether it is met, and the evidence or what is missing."""

    level: str
    name: str
    kept: bool
    evidence: str


LEVELS = (
    "Privacy parameters",
    "Unit of privacy",
    "Algorithms and correctness",
    "Accuracy and bias",
    "Trust and threat model",
    "Implementation and side channels",
    "Security and access",
    "Data collection",
)
"""The levels of the pyramid, from its top to its base."""


@dataclass(frozen=True, slots=True)
class AnchorCheck:
    """The newest anchor with which a chain was compared, and when that was done.

    ``entry`` is the number of the anchored entry. Both times are in milliseconds since 1970;
    ``written`` is 0 if the anchor does not say it.
    """

    entry: int
    written: int
    compared: int

    @property
    def age(self) -> str:
        """The age of the anchor in words.

        Example:
            >>> AnchorCheck(9, 1_000, 3_601_000).age, AnchorCheck(9, 1_000, 2_000).age
            ('1 hour', 'less than a minute')
            >>> AnchorCheck(9, 1, 259_200_001).age, AnchorCheck(9, 0, 1).age
            ('3 days', 'an unknown time')
        """
        if not self.written:
            return "an unknown time"
        seconds = max(0, self.compared - self.written) // 1000
        for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
            if count := seconds // length:
                return f"{count} {name}{'' if count == 1 else 's'}"
        return "less than a minute"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that hazards are judged by: the ledger, the odds at the cap, audits and attacks."""

    facts: PopulationFacts
    cap: AttackOdds
    audits: Sequence[Mapping[str, Any]] = ()
    attacks: Sequence[Mapping[str, Any]] = ()
    anchored: AnchorCheck | None = None
    """The newest anchor with which the chain was compared; None if it was not compared."""

    @property
    def signed(self) -> bool:
        """Whether each owner has a key, so that all of their acts are signed."""
        book = self.facts.book
        return all(book.keys.key_of(owner) for owner in book.owners)


def hazards_of(evidence: Evidence) -> tuple[Hazard, ...]:
    """Return every hazard with its state, in the order of the pyramid."""
    judged = (
        _parameters,
        _unit,
        _algorithms,
        _accuracy,
        _trust,
        _implementation,
        _security,
        _collection,
    )
    return tuple(
        Hazard(level, *found)
        for level, judge in zip(LEVELS, judged, strict=True)
        for found in judge(evidence)
    )


def _list_facts(declared: Sequence[str]) -> str:
    return "; ".join(fact_texts(declared))


Found = Iterator[tuple[str, bool, str]]


def _parameters(evidence: Evidence) -> Found:
    facts, cap = evidence.facts, evidence.cap
    status = facts.status
    yield (
        "Losses of many releases add up without a limit",
        True,
        (
            f"The ledger refuses charges beyond {facts.total(facts.book.cap)}. Its whole chain "
            f"was verified for this report: {spell(facts.book.seq, 'entry', 'entries')}."
        ),
    )
    yield (
        "The parameters are too large to protect anybody",
        cap.pairs <= TELLING,
        "At the cap, the best attacker tells presence from absence in at most "
        f"{percent(cap.pairs)} of tries."
        + ("" if cap.pairs <= TELLING else " The owners must say why this is acceptable."),
    )
    total = status.total.delta
    yield (
        "Delta is large for the number of people",
        not total,
        f"Delta is {plain(total)} in all. It should be far below one divided by the number of "
        f"people, which this report does not know; it is for fewer than "
        f"{int(1 / (10 * total)):,}."
        if total
        else "Delta is 0.",
    )
    raised = len(facts.caps) - 1
    yield (
        "The budget is renewed or raised again and again",
        raised <= 0,
        "The budget does not renew, and the cap was never raised."
        if raised <= 0
        else f"The cap was changed {spell(raised, 'time')}; the decisions have the reasons.",
    )


def _unit(evidence: Evidence) -> Found:
    facts = evidence.facts
    links = [each for each in facts.book.declared if "names the unit" in each]
    believed = [each for each in facts.book.declared if "said to be unique" in each]
    yield (
        "Rows or events are protected, and not people",
        False,
        (
            f"The unit is one {facts.unit.name} with all rows. The owners declare which column "
            f"names it ({_list_facts(links) or 'no declaration'}), and must confirm it."
        ),
    )
    yield (
        "One unit appears under several names or in several populations",
        not believed,
        "The ledger binds each physical table to one population."
        + (
            f" Believed and not enforced: {'; '.join(fact_texts(believed))}."
            if believed
            else ""
        ),
    )
    limited = [each for each in facts.book.declared if " groups of " in each]
    yield (
        "One unit contributes without a limit",
        bool(limited),
        _list_facts(limited) or "No declaration of limits is recorded.",
    )


def _algorithms(evidence: Evidence) -> Found:
    facts = evidence.facts
    idealised = sorted({name for name, noise in facts.mechanisms if noise != EXACT})
    yield (
        "Noise is not drawn from the distribution of the proof",
        not idealised,
        "All mechanisms so far have exact noise in whole numbers."
        if not idealised
        else f"Idealised noise was used: {', '.join(idealised)}.",
    )
    estimated = [each for each in facts.book.declared if "(estimated)" in each]
    yield (
        "Bounds or keys are read from the data",
        True,
        "Every bound and key is public, a policy, or estimated for a charge"
        + (f": {_list_facts(estimated)}." if estimated else "."),
    )
    kept = bool(evidence.audits) and all(each["kept"] for each in evidence.audits)
    yield (
        "The implementation is wrong",
        kept,
        f"Signed audits of this installation without a violation: {len(evidence.audits)}."
        if kept
        else "No signed audit without a violation was given; run `tacit audit`.",
    )


def _accuracy(evidence: Evidence) -> Found:
    declared = evidence.facts.book.declared
    tables = {each.partition(":")[0] for each in declared if " groups of " in each}
    closed = {
        each.partition(":")[0]
        for each in declared
        if "nobody has more than" in each or ("have more than" in each and "measured" in each)
    }
    missing = sorted(tables - closed)
    yield (
        "Limits leave rows out, and answers are biased",
        bool(tables) and not missing,
        "Each table has a public or a measured most of rows, and intervals cover the cut."
        if tables and not missing
        else f"It is not known how many rows are cut in: {', '.join(missing) or 'any table'}. "
        "Intervals are open there.",
    )
    shown = [each for each in declared if "cells of at least" in each]
    yield (
        "Small groups get answers that are mostly noise",
        bool(shown),
        _list_facts(shown)
        or "Every answer has intervals, but small cells are shown. Owners can set min_people.",
    )


def _trust(evidence: Evidence) -> Found:
    facts = evidence.facts
    yield (
        "Analysts collude, or adapt questions to answers",
        True,
        (
            f"One cap holds for all principals together ({len(facts.asked_by)} so far), and "
            "adaptive questions are part of the guarantee."
        ),
    )
    yield (
        "The same question is repeated until the noise averages out",
        True,
        "The same question returns the same stored bytes, for nothing.",
    )
    yield (
        "The curator sees everything",
        False,
        (
            "This is the central model: those who administer the tables, the ledger or the "
            "server must be trusted. Name them and what binds them."
        ),
    )
    told = [each for each in evidence.attacks if each.get("parts")]
    yield (
        "Nobody has tried to attack the releases",
        bool(told),
        f"{spell(len(told), 'attack report')} given, with a summary below."
        if told
        else "No attack report was given; run `tacit attack`.",
    )


def _implementation(evidence: Evidence) -> Found:
    facts, status = evidence.facts, evidence.facts.status
    charges = sum(facts.asked_by.values())
    yield (
        "Floating-point numbers reveal exact values",
        all(noise == EXACT for _, noise in facts.mechanisms),
        "Sums and noise are whole numbers on a public grid."
        if all(noise == EXACT for _, noise in facts.mechanisms)
        else "Some noise was computed with rounded real numbers.",
    )
    yield (
        "The time of an answer depends on a person's rows",
        bool(charges) and facts.timed == charges,
        f"{facts.timed} of {spell(charges, 'charge')} paid for a random delay of the answer."
        + (
            ""
            if charges and facts.timed == charges
            else " The others assume that nobody times answers."
        ),
    )
    found = status.missed + status.failed + status.retried
    yield (
        "Failures and late answers depend on a person's rows",
        not status.locked and not found,
        "No answer was late, failed or was run twice."
        if not found
        else f"{status.missed} late, {status.failed} failed, {status.retried} run twice; "
        + ("an owner must review them." if status.locked else "owners have reviewed them."),
    )


def _security(evidence: Evidence) -> Found:
    owners, lost = len(evidence.facts.book.owners), evidence.facts.book.lost
    yield (
        "The record of losses is changed, or restored from an old copy",
        evidence.anchored is not None and not lost,
        f"An older copy was restored, which lacks entry {max(lost.values())}. An owner charged "
        "what was spent up to that entry; who asked what for it is not known."
        if lost
        else "The chain was verified, and compared with its newest anchor, of entry "
        f"{evidence.anchored.entry}, which was {evidence.anchored.age} old. "
        f"{max(0, evidence.facts.book.seq - evidence.anchored.entry)} later entries are not "
        "anchored yet."
        if evidence.anchored is not None
        else "The chain was verified, but not compared with an anchor that is kept elsewhere.",
    )
    yield (
        "One person alone raises the cap",
        owners > 1 and evidence.signed,
        f"{owners} owners are named, and a second one approves each raise of the cap. "
        + ("Each signs with a key." if evidence.signed else "Confirm that they are two people.")
        if owners > 1
        else "There is one owner, who decides alone.",
    )
    yield (
        "The tables, backups or keys are read without this software",
        False,
        "A ledger cannot show this. Refer to the access rules of the database and of .tacit/.",
    )


def _collection(evidence: Evidence) -> Found:
    yield (
        "More data is collected or kept than the purpose needs",
        False,
        (
            "A ledger cannot show this. Refer to the record of processing, and to how long the "
            f"rows of each {evidence.facts.unit.name} are kept."
        ),
    )
    yield (
        "The data was exposed before it was protected",
        False,
        "A ledger cannot show this. Refer to earlier publications and transfers of the data.",
    )
