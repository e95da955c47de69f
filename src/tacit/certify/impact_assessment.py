"""The annex of a report for a data-protection impact assessment (GDPR, article 35(7)).

The four parts are those of the law. The facts of the ledger are filled in. Facts that
only the controller knows are asked for, and marked as open.
"""

from collections.abc import Sequence

from tacit.accounting import AttackOdds
from tacit.certify import documents as doc
from tacit.certify.hazards import Hazard
from tacit.certify.population_facts import PopulationFacts
from tacit.render import spell

STATE = "To be stated by the controller."


def assessment(
    facts: PopulationFacts, cap: AttackOdds, hazards: Sequence[Hazard]
) -> tuple[str, ...]:
    """Return the four parts of an assessment as HTML."""
    return (
        doc.text(
            "This annex follows article 35(7) of the GDPR. It is no assessment by itself: the "
            "controller completes and decides it, with the advice of the data-protection "
            "officer."
        ),
        doc.part("(a) The processing and its purposes", *_processing(facts)),
        doc.part("(b) Necessity and proportionality", *_necessity(facts)),
        doc.part("(c) Risks to the rights and freedoms of people", *_risks(facts, cap)),
        doc.part("(d) Measures", *_measures(facts, hazards)),
    )


def _row(said: str, answer: str | None) -> tuple[doc.Cell, doc.Cell]:
    return said, doc.Mark("open", STATE) if answer is None else answer


def _table(rows: Sequence[tuple[doc.Cell, doc.Cell]]) -> str:
    return doc.table(("Question", "Answer"), rows, widths=("16rem", ""))


def _processing(facts: PopulationFacts) -> tuple[str, ...]:
    askers = spell(len(facts.asked_by), "principal")
    columns = [each for each in facts.declared_facts if "." in each.partition(":")[0]]
    return (
        _table(
            [
                _row("Controller, processors and contact", None),
                _row("Purpose and legal basis", None),
                _row("Whose data", f"{facts.name}; each is one {facts.unit.name}"),
                _row("What is done", "Noisy statistics and models are released; rows are not"),
                _row(
                    "Who receives results",
                    f"{askers} so far",
                ),
                _row("How long rows are kept", None),
            ]
        ),
        doc.text("The columns that can be asked about:"),
        doc.points(columns),
    )


def _necessity(facts: PopulationFacts) -> tuple[str, ...]:
    return (
        _table(
            [
                _row("Why the purpose needs these columns", None),
                _row(
                    "Why no less data would do",
                    "Analysts get no row. Each answer has noise, and all share one cap.",
                ),
                _row("How people are informed, and can object", None),
                _row(
                    "What removal of a person changes",
                    "Later answers only. The guarantee bounds what earlier answers reveal.",
                ),
                _row("Limit on all results together", facts.total(facts.book.cap)),
            ]
        ),
    )


def _risks(facts: PopulationFacts, cap: AttackOdds) -> tuple[str, ...]:
    return (
        _table(
            [
                _row("That somebody learns whether a person is in the data", f"{cap}"),
                _row(
                    "That somebody learns a value of a person",
                    "A change of a person's values is a removal and an addition, so that it is "
                    "bounded by twice the epsilon, or four times the rho.",
                ),
                _row(
                    "That a group is harmed by what is true of it",
                    f"Differential privacy does not prevent this. {STATE}",
                ),
                _row(
                    "That rows are read without Tacit",
                    None,
                ),
                _row(
                    "Incidents so far",
                    f"{facts.status.missed} late, {facts.status.failed} failed, "
                    f"{facts.status.retried} run twice",
                ),
                _row("How severe each would be for the people", None),
            ]
        ),
    )


def _measures(facts: PopulationFacts, hazards: Sequence[Hazard]) -> tuple[str, ...]:
    open_ = [f"{each.level}: {each.name}. {each.evidence}" for each in hazards if not each.kept]
    return (
        doc.text(
            "The measures with evidence are the ticks of the section about hazards. These are "
            "open:"
        ),
        doc.points(open_),
        _table(
            [
                _row("Owners who decide", f"{len(facts.book.owners)}"),
                _row("When this is reviewed again", None),
                _row("Opinion of the data-protection officer", None),
            ]
        ),
    )
