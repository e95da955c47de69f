"""The report about a population: one page for a board or a data-protection officer.

It says what may leave and what has left, what that means for one person, who asked, who
decided, what failed, and which hazards are met by evidence. Everything is from the ledger, but
for the audits and attacks that are given. An annex has the parts of a data-protection impact
assessment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from tacit.accounting import AttackOdds, odds_of, odds_of_mu, to_approximate_dp
from tacit.certify import documents as doc
from tacit.certify import drawings as draw
from tacit.certify.certificate import MEASURES, NOT_PROTECTED, PRIOR, time_text
from tacit.certify.certificate_page import audits_of, odds_table, percent
from tacit.certify.hazards import LEVELS, AnchorCheck, Evidence, Hazard, hazards_of
from tacit.certify.impact_assessment import assessment
from tacit.certify.population_facts import PopulationFacts, day_of
from tacit.certify.software import software
from tacit.core import Measure
from tacit.ledger import NO_UNITS, NOT_ADDED, Units
from tacit.numeric import plain
from tacit.render import spell

NEWEST = 25
"""Number of decisions and incidents that the page lists; the ledger has all of them."""


@dataclass(frozen=True, slots=True)
class Given:
    """The sources of a report, apart from the ledger."""

    made: int
    """The time in milliseconds since 1970."""
    assumptions: tuple[str, ...] = ()
    audits: tuple[Mapping[str, Any], ...] = ()
    attacks: tuple[Mapping[str, Any], ...] = ()
    publications: tuple[str, ...] = ()
    anchored: AnchorCheck | None = None
    """The newest anchor with which the chain was compared; None if it was not compared."""


def report_page(facts: PopulationFacts, given: Given, key: str) -> str:
    """Return the HTML of the report's page, without its signature."""
    cap = odds_of(facts.status.cap, PRIOR)
    spent = spent_odds(facts)
    found = hazards_of(Evidence(facts, cap, given.audits, given.attacks, given.anchored))
    title = f"Privacy report: {facts.name}"
    body = (
        doc.heading(
            title,
            f"Made {time_text(given.made)} from the ledger, which has "
            f"{spell(facts.book.seq, 'verified entry', 'verified entries')}.",
        ),
        _summary(facts, cap, spent, found),
        doc.section("The guarantee", *_guarantee(facts, cap, spent)),
        doc.section("What has left", *_left(facts, given), new_page=True),
        doc.section("Who asked", *_who_asked(facts)),
        doc.section("Hazards, from parameters to data collection", *_hazards(found)),
        doc.section("Decisions", *_decisions(facts)),
        doc.section("What it assumes, and what is not protected", *_assumptions(given)),
        doc.section("Failures", *_failures(facts)),
        doc.section("Audits", audits_of(given.audits)),
        doc.section("Attacks", _attacks(given.attacks)),
        doc.section(
            "Annex: for a data-protection impact assessment",
            *assessment(facts, cap, found),
            new_page=True,
        ),
        doc.section("How to verify this page", *_verify(facts, key)),
        doc.footer(f"Tacit {software()['tacit']}, signed by {key}."),
    )
    return doc.page("report", title, "\n".join(body))


def spent_odds(facts: PopulationFacts) -> AttackOdds:
    """Return the odds of what was spent; by mu, if all noise so far is Gaussian."""
    mu = facts.mu
    if mu is not None:
        return odds_of_mu(mu, facts.status.spent, PRIOR)
    return odds_of(facts.status.spent, PRIOR)


# ------------------------------------------------------------------ summary and guarantee


def _summary(
    facts: PopulationFacts, cap: AttackOdds, spent: AttackOdds, found: Sequence[Hazard]
) -> str:
    kept = sum(each.kept for each in found)
    state = "Questions are charged and answered."
    if facts.status.frozen:
        state = "An owner has stopped all charges."
    elif facts.status.locked:
        state = "Nothing is charged until an owner has reviewed late or failed answers."
    told = (
        f"Everything that Tacit ever releases about {facts.name} together stays within "
        f"{facts.total(facts.book.cap)}, for {facts.unit}. So far, "
        f"{facts.total(facts.book.spent)} is spent. {state}"
    )
    if facts.book.lost:
        told += (
            " An older copy of the ledger was restored, which lacked entry "
            f"{max(facts.book.lost.values())}; an owner charged what was spent up to it."
        )
    return doc.box(doc.text(told)) + doc.figures(
        (
            (_share(facts), "of the budget is spent"),
            (
                f"{percent(spent.pairs)} \u2192 {percent(cap.pairs)}",
                "an attacker's best score, now and at the cap (a guess: 50%)",
            ),
            _charges(facts),
            (f"{kept} of {len(found)}", "hazards met by evidence; the others are open"),
        )
    )


def _charges(facts: PopulationFacts) -> tuple[str, str]:
    charges = sum(facts.asked_by.values())
    people = spell(len(facts.asked_by), "principal")
    return str(charges), f"{'charge' if charges == 1 else 'charges'} of {people}"


def _share(facts: PopulationFacts) -> str:
    spent, cap = facts.book.spent, facts.book.cap
    parts = [
        Fraction(used, most)
        for used, most in ((spent.amount, cap.amount), (spent.delta, cap.delta))
        if most
    ]
    return percent(max(parts, default=Fraction(0)))


def _guarantee(facts: PopulationFacts, cap: AttackOdds, spent: AttackOdds) -> tuple[str, ...]:
    told = {
        "Guess": _guess(cap),
        "Spent so far": spent.to_dict(),
        "The cap": cap.to_dict(),
    }
    mu = (
        f"All noise so far is Gaussian: what was spent satisfies Gaussian differential privacy "
        f"with mu = {plain(spent.mu)}. The cap has no mu, because later noise may be of "
        "another kind."
        if spent.mu is not None
        else "Not all noise so far is Gaussian, so that no mu is told."
    )
    return (
        doc.text(str(cap)),
        doc.text(
            "The guarantee is the column of the cap. What was spent so far is for information: "
            "the decision when to stop may depend on the answers."
        ),
        (
            f"<figure>{_odds_picture(cap, spent)}<figcaption>The most that an attacker can "
            "reach. The dashed line is a guess without any release.</figcaption></figure>"
        ),
        odds_table(told),
        doc.text(mu),
        doc.facts(
            {
                "Unit of privacy": facts.unit,
                "Measure": MEASURES[facts.status.measure],
                "Cap": facts.total(facts.book.cap),
                "Spent": facts.total(facts.book.spent),
            }
        ),
    )


def _guess(odds: AttackOdds) -> dict[str, Any]:
    """Return the figures of an attacker who sees nothing."""
    return odds.to_dict() | {
        "posterior_at_most": plain(odds.prior),
        "auc_at_most": "0.5",
        "true_positive_rate_at_most": plain(odds.false_positive),
    }


def _odds_picture(cap: AttackOdds, spent: AttackOdds) -> str:
    def group(title: str, guess: Fraction, now: Fraction, most: Fraction) -> draw.Group:
        return draw.Group(
            title,
            (
                draw.Bar("spent so far", float(now), draw.MAIN, percent(now)),
                draw.Bar("the cap", float(most), draw.CAP, percent(most)),
            ),
            float(guess),
        )

    rate = percent(cap.false_positive)
    return draw.bars(
        [
            group(
                "Tells a release with a person from one without",
                Fraction(1, 2),
                spent.pairs,
                cap.pairs,
            ),
            group(
                f"Thinks that somebody took part, who seemed {percent(cap.prior)} likely",
                cap.prior,
                spent.belief,
                cap.belief,
            ),
            group(
                f"Finds participants, while accusing {rate} of others",
                cap.false_positive,
                spent.found,
                cap.found,
            ),
        ],
        "Odds of an attacker, for what was spent and at the cap",
    )


# ------------------------------------------------------------------ what has left, and to whom


def _left(facts: PopulationFacts, given: Given) -> tuple[str, ...]:
    used = [
        (name, noise, str(count)) for (name, noise), count in facts.mechanisms.most_common()
    ]
    listed = (
        doc.table(("Mechanism", "Noise", "Charges"), used, numbers=[2])
        if used
        else doc.text("Nothing that depends on the data was released.")
    )
    first = "never" if facts.first is None else time_text(facts.first)
    last = "never" if facts.last is None else time_text(facts.last)
    return (
        (
            f"<figure>{_spent_picture(facts, day_of(given.made))}<figcaption>The epsilon of "
            "all charges, by day, below the cap. Nothing is refunded.</figcaption></figure>"
        ),
        doc.facts({"First charge": first, "Newest charge": last}),
        listed,
        doc.part("Publications", doc.points(given.publications) or doc.text("There is none.")),
    )


def _spent_picture(facts: PopulationFacts, until: date) -> str:
    def epsilon(units: Units) -> float:
        loss = facts.loss(units)
        total = to_approximate_dp(loss, facts.status.conversion_delta)
        return float(total.amount)

    total, cap, caps = NO_UNITS, NO_UNITS, dict(facts.caps)
    days, steps = sorted({*facts.spent_on, *caps}), []
    for day in days:
        total, cap = total + facts.spent_on.get(day, NO_UNITS), caps.get(day, cap)
        steps.append((day, total, cap))
    every = -(-len(steps) // draw.MOST_STEPS)
    kept = [each for at, each in enumerate(steps) if (len(steps) - 1 - at) % every == 0]
    return draw.spent_over_time(
        [draw.SpentStep(day, epsilon(spent), epsilon(most)) for day, spent, most in kept],
        max(until, days[-1]),
    )


MOST_NAMES = 12
WIDTHS = ("4.8rem", "15rem", "")
"""The widths of the columns of hazards, so that they are alike on each level."""


def _who_asked(facts: PopulationFacts) -> tuple[str, ...]:
    if not facts.asked_by:
        return (doc.text("Nobody has asked a question that was charged."),)
    most = facts.book.cap.amount or 1
    spent = {
        name: facts.book.spent_by.get(name, NO_UNITS)
        for name, _ in facts.asked_by.most_common()
    }
    ranked = sorted(spent, key=lambda name: spent[name].amount, reverse=True)
    shown = ranked[:MOST_NAMES]
    picture = draw.bars(
        [
            draw.Group(
                "",
                tuple(
                    draw.Bar(
                        name,
                        spent[name].amount / most,
                        draw.MAIN,
                        percent(Fraction(spent[name].amount, most)),
                    )
                    for name in shown
                ),
            )
        ],
        "Share of the cap that each principal has used",
    )
    rows = [
        (
            name,
            str(facts.asked_by[name]),
            facts.loss_text(spent[name]),
            facts.loss_text(facts.book.quotas[name])
            if name in facts.book.quotas
            else "the cap",
        )
        for name in shown
    ]
    rest = len(ranked) - len(shown)
    return (
        (
            f"<figure>{picture}<figcaption>The share of the cap that each principal has used."
            "</figcaption></figure>"
        ),
        doc.table(("Principal", "Charges", "Spent", "Limited by"), rows, numbers=[1]),
        doc.text(
            NOT_ADDED if facts.status.measure is Measure.ZCDP and len(ranked) > 1 else "",
            f"The ledger has {spell(rest, 'principal')} more." if rest > 0 else "",
        ),
    )


# ------------------------------------------------------------------ hazards


def _hazards(found: Sequence[Hazard]) -> tuple[str, ...]:
    said = (
        "The order is that of NIST SP 800-226: each level holds only if the levels below it "
        "do. A tick has evidence. An open circle must be judged by people, or lacks evidence."
    )
    parts = [doc.text(said)]
    for level in LEVELS:
        rows = [
            (
                doc.Mark("kept", "met") if each.kept else doc.Mark("open"),
                each.name,
                each.evidence,
            )
            for each in found
            if each.level == level
        ]
        parts.append(
            doc.part(level, doc.table(("", "Hazard", "Evidence"), rows, widths=WIDTHS))
        )
    return tuple(parts)


# ------------------------------------------------------------------ decisions and the rest


def _decisions(facts: PopulationFacts) -> tuple[str, ...]:
    newest = [each.row for each in facts.decisions[-NEWEST:]]
    more = len(facts.decisions) - len(newest)
    return (
        doc.facts({"Owners": ", ".join(sorted(facts.book.owners))}),
        doc.table(("Entry", "Time", "By", "Kind", "Decision"), newest),
        doc.text(
            f"At least {spell(more, 'earlier decision')} more in the ledger."
            if more > 0
            else ""
        ),
    )


def _assumptions(given: Given) -> tuple[str, ...]:
    assumed = given.assumptions or (
        "No answer is stored yet, and each answer prints its own assumptions.",
    )
    return (
        doc.part("Assumptions of the newest answers", doc.points(assumed)),
        doc.part("Not protected", doc.points(NOT_PROTECTED)),
    )


def _failures(facts: PopulationFacts) -> tuple[str, ...]:
    status = facts.status
    told = (
        f"Late answers: {status.missed}. Failed answers: {status.failed}. Answers run twice: "
        f"{status.retried}. Owners stopped all charges {spell(facts.freezes, 'time')}."
    )
    rows = [each.row for each in facts.incidents[-NEWEST:]]
    listed = doc.table(("Entry", "Time", "By", "Kind", "What happened"), rows) if rows else ""
    return doc.text(told), listed


def _attacks(attacks: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of attacks through Tacit; figures of exact data are left out."""
    rows = []
    for report in attacks:
        for part in report.get("parts", ()):
            for each in part.get("findings", ()):
                if not str(each.get("system", "")).startswith("Tacit"):
                    continue
                allowed = each.get("allowed")
                rows.append(
                    (
                        str(report.get("subject", "")),
                        str(each.get("attack", "")),
                        _rate(each.get("success")),
                        _rate(each.get("chance")),
                        "no limit is known" if allowed is None else _rate(allowed),
                        str(each.get("verdict", "")),
                    )
                )
    if not rows:
        return doc.text("No attack report was given. Run `tacit attack`, and pass its JSON.")
    headings = ("On", "Attack", "Right", "A guess", "Allowed", "Verdict")
    return doc.text(
        "What attackers reach through Tacit. The attacks on exact answers are left out here, "
        "because their figures are not private."
    ) + doc.table(headings, rows, numbers=[2, 3])


def _rate(value: object) -> str:
    return f"{100 * value:.1f}%" if isinstance(value, int | float) else ""


def _verify(facts: PopulationFacts, key: str) -> tuple[str, ...]:
    made = software()
    return (
        doc.text(
            "Run `tacit verify FILE --key KEY` with the public key of the installation, which "
            "you got from its owner and not from this page. It needs no network, and finds a "
            "change of any byte."
        ),
        doc.facts(
            {
                "Newest entry": f"{facts.book.seq}, {facts.book.head.hex()}",
                "Software": f"Tacit {made['tacit']}, source {made['source_sha256']}",
                "Public key": key,
            }
        ),
    )
