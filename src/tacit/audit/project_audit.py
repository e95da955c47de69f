"""Audit of a project: the owner's questions over synthetic people, and a one-run audit."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from tacit.accounting import rho_within
from tacit.audit.lower_bound import Drawn
from tacit.audit.one_run import audit_session
from tacit.audit.question_audit import QuestionAudit, catalog_of_population
from tacit.audit.report import AuditedItem, AuditReport, Check
from tacit.core import Loss, Measure
from tacit.engines.synthetic_duckdb import SyntheticDuckDB
from tacit.numeric import Number, exact
from tacit.plan import source_of
from tacit.project import Project
from tacit.session import budget_of, read_project
from tacit.sql import parse


@dataclass(frozen=True, slots=True)
class ProjectAudit:
    """An audit of a project file: the loss of each question, and the size of the audit.

    Guarantee: no row of the project's tables is read and nothing is charged. The synthetic
    people are generated from public declarations.
    """

    file: Path
    epsilon: Number = 1
    delta: Number = 0
    pairs: int = 100
    draws: int = 10**6
    people: int = 10**5
    confidence: float = 0.999

    def parts(self, questions: Sequence[str]) -> Iterator[AuditedItem]:
        """Yield the audit of each question, and then of the build itself.

        The audit of the build is left out if ``people`` is 0.
        """
        project = read_project(self.file)
        with closing(SyntheticDuckDB()) as duckdb:
            drawn = Drawn(self.draws, self.confidence)
            audit = QuestionAudit(duckdb.over, self.pairs, drawn)
            for text in questions:
                population = _population(text, project)
                loss = self._loss(project, population)
                yield audit.audit(
                    text, catalog_of_population(project.catalog, population), loss
                )
        if self.people:
            yield self._one_run()

    def report(self, parts: Sequence[AuditedItem]) -> AuditReport:
        """Return the report of the audited items, with the current time."""
        made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        digest = sha256(self.file.read_bytes()).hexdigest()
        return AuditReport(made, version("tacit"), self.file.name, digest, tuple(parts))

    def _one_run(self) -> AuditedItem:
        run = audit_session(self.people, self.epsilon, self.confidence)
        figures = {
            "people": run.people,
            "right": run.right,
            "shown": run.lower_bound,
            "claimed": float(run.epsilon),
        }
        check = Check("one run", str(run), not run.convicts, figures)
        return AuditedItem(
            f"This build, one GROUP BY over {self.people:,} synthetic people", (check,)
        )

    def _loss(self, project: Project, population: str) -> Loss:
        """Return the loss of one question, in the measure of the declared budget."""
        people = next(each for each in project.people if each.population.name == population)
        budget, delta = budget_of(people.budget), exact(self.delta)
        amount, measure = exact(self.epsilon), budget.cap.measure
        if measure is Measure.ZCDP:
            amount = rho_within(amount, budget.conversion_delta)
        return Loss(measure, amount, delta)


def _population(text: str, project: Project) -> str:
    """Return the population of a question."""
    source = source_of(parse(text, project.catalog).source, project.catalog)
    return project.catalog.dataset(source.dataset).population
