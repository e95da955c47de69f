"""A question of a project is put to the test over people whom its public schema makes."""

from dataclasses import replace
from fractions import Fraction

import pytest

from tacit.audit.lower_bound import Drawn
from tacit.audit.question_audit import QuestionAudit, catalog_of_population
from tacit.audit.synthetic_people import Choices, neighbours
from tacit.cli.demo import PROJECT
from tacit.core.catalog import Catalog, UnitColumn
from tacit.core.loss import Loss
from tacit.engines.engine import Engine, SecretTable
from tacit.engines.reference import Reference, Tables
from tacit.engines.synthetic_duckdb import SyntheticDuckDB
from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.project.document import ProjectText
from tacit.session.engines import project_of

CLINIC = catalog_of_population(
    project_of(ProjectText("tacit.toml", PROJECT.replace("OWNER", '"olga"'))).catalog,
    "patients",
)
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
TWO_LINKS = "SELECT SUM(value) AS v FROM labs"
SELECTED = "SELECT doctor, COUNT(*) AS n FROM visits GROUP BY doctor"
LOSS = Loss.zcdp("0.1", "1e-6")
DRAWN = Drawn(10**5, 1 - 1e-9)


def reference(catalog: Catalog, tables: Tables) -> Engine:
    del catalog
    return Reference(dict(tables))


@pytest.mark.parametrize("text", [COUNT, TWO_LINKS, SELECTED])
def test_a_question_that_keeps_its_word_is_found_so(text: str) -> None:
    part = QuestionAudit(SyntheticDuckDB().over, 15, DRAWN).audit(text, CLINIC, LOSS)
    assert [check.kept for check in part.checks] == [True] * len(part.checks)
    assert part.checks[0].figures["pairs"] == 15
    assert part.checks[0].figures["reached"] > 0.9  # made-up people push against the bounds
    assert bool(part.notes) == (text == SELECTED)


class Unbounded:
    """The lie: an engine that keeps every row of a person."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        many = replace(plan, max_groups=10**6, max_rows=10**6)
        return self._engine.run(many, catalog, salt)


def test_an_engine_that_bounds_nobody_is_caught() -> None:
    lying = QuestionAudit(lambda *given: Unbounded(reference(*given)), 30, DRAWN)
    check = lying.audit(COUNT, CLINIC, LOSS).checks[0]
    assert not check.kept
    assert "was declared" in check.found
    assert str(check).startswith("BROKEN: neighbours: 30 pairs")
    honest = QuestionAudit(reference, 30, DRAWN)
    assert honest.audit(COUNT, CLINIC, LOSS).checks[0].kept


def test_too_little_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DiscreteGaussian.draw

    def weaker(self: DiscreteGaussian, entropy: Entropy, count: int) -> Integers:
        return honest(DiscreteGaussian(self.variance * Fraction(1, 2)), entropy, count)

    audit = QuestionAudit(reference, 1, DRAWN)
    monkeypatch.setattr(DiscreteGaussian, "draw", weaker)
    check = audit.audit(COUNT, CLINIC, LOSS).checks[1]
    assert not check.kept
    assert check.name == "Gaussian noise"
    assert check.figures["shown"] > check.figures["claimed"]


def test_a_question_that_nobody_meets_is_told_of() -> None:
    audit = QuestionAudit(reference, 3, DRAWN)
    text = "SELECT COUNT(*) AS n FROM visits WHERE doctor = 'Dr Who'"
    assert "No synthetic person met the conditions" in audit.audit(text, CLINIC, LOSS).notes[0]
    assert audit.audit(COUNT, CLINIC, LOSS).notes == ()


def test_pure_questions_are_audited_by_their_epsilon() -> None:
    audit = QuestionAudit(reference, 1, DRAWN)
    check = audit.audit(COUNT, CLINIC, Loss.pure(1)).checks[1]
    assert check.kept
    assert check.figures["claimed"] == pytest.approx(1)
    assert check.figures["shown"] > 0.9


def test_people_are_made_for_any_tables() -> None:
    first = CLINIC.datasets[0]
    assert isinstance(first.unit, UnitColumn)
    one_row = replace(first, unit=replace(first.unit, one_row=True))
    # parents last, as an owner may write them
    catalog = replace(CLINIC, datasets=(*CLINIC.datasets[1:], one_row))
    linked = 0
    for number in range(20):
        for tables in neighbours(catalog, Choices(str(number))):
            named = [row["person"] for row in tables["patients",] if row["person"] is not None]
            assert len(named) == len(set(named))
            ids = {row["id"] for row in tables["patients",]} - {None}
            linked += sum(row["patient"] in ids for row in tables["visits",])
    assert linked > 50


def test_made_up_tables_live_nowhere_and_belong_to_one_population() -> None:
    assert {table.location.engine for table in CLINIC.tables} == {"made up"}
    assert [population.name for population in CLINIC.populations] == ["patients"]
