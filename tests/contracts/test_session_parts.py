"""The parts of a session by themselves: budgets as owners write them, the salt, the folder."""

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import tacit
from tacit.accounting.convert import rho_within
from tacit.cli.demo import PROJECT
from tacit.core.domain import Provenance
from tacit.core.loss import Budget, Loss
from tacit.errors import InvalidValue, StoreFailed, UnknownName
from tacit.project.populations import Allowance
from tacit.session.changes import budget_of, changes_of
from tacit.session.curator import LedgerFolder, salt_of
from tacit.session.engines import read_project
from tacit.store.sealed_state import NO_STATE, State, States

HALF = Fraction(1, 2)


def test_a_budget_is_written_in_three_ways() -> None:
    assert budget_of(Allowance(epsilon=HALF)) == Budget(Loss.pure(HALF))
    rho = Allowance(rho=HALF, delta=Fraction(1, 10**7), conversion_delta=Fraction(1, 10**6))
    assert budget_of(rho) == Budget(Loss.zcdp(HALF, "1e-7"), Fraction(1, 10**6))
    both = budget_of(Allowance(epsilon=Fraction(3), delta=Fraction(1, 10**6)))
    assert both.cap.delta + both.conversion_delta == Fraction(1, 10**6)


def divided(delta: str, keys: Fraction) -> Budget:
    """A budget of epsilon 3 that keeps a part of its delta for keys."""
    whole = Fraction(delta)
    rest = whole * (1 - keys)
    return Budget(Loss.zcdp(rho_within(Fraction(3), rest), whole * keys), rest)


def decided(folder: Path, budget: Budget, written: str) -> list[str]:
    """The changes of the demo's budget that its ledger, opened with ``budget``, lacks."""
    file = folder / "tacit.toml"
    text = PROJECT.replace("OWNER", '"olga"')
    file.write_text(text.replace('epsilon = 3, delta = "1e-6"', written), encoding="utf-8")
    project, home = read_project(file), LedgerFolder.at(folder / "home")
    (people,) = project.people
    home.ledger.open_budget(people.population, budget, ("olga",), by="olga")
    try:
        found = changes_of(people, project, home.ledger, None)
        return [change.text for change in found if "cap" in change.text]
    finally:
        home.store.close()


def test_a_ledger_keeps_the_parts_of_delta_that_it_was_opened_with(tmp_path: Path) -> None:
    same = 'epsilon = 3, delta = "1e-6"'
    for name, keys in (("first", HALF), ("now", Fraction(1, 100))):
        (tmp_path / name).mkdir()
        assert decided(tmp_path / name, divided("1e-6", keys), same) == []
    (tmp_path / "more").mkdir()
    raised = decided(tmp_path / "more", divided("1e-6", HALF), 'epsilon = 4, delta = "1e-6"')
    assert len(raised) == 1
    assert ") to epsilon 4, delta 0.000001 (rho " in raised[0]
    assert raised[0].count("delta 0.000001") == raised[0].count("delta") == 2  # then and now


def test_other_parts_of_delta_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="another unit, measure or delta"):
        decided(tmp_path, divided("1e-6", Fraction(1, 3)), 'epsilon = 3, delta = "1e-6"')


def test_a_session_reopens_a_ledger_that_kept_half_of_delta_for_keys(tmp_path: Path) -> None:
    def opened(budget: Budget | tuple[int, str], folder: str) -> tuple[Fraction, Fraction]:
        with tacit.open(
            pd.DataFrame({"who": [1], "x": [1]}),
            population="staff",
            unit="who",
            max_groups=1,
            max_rows=1,
            budget=budget,
            folder=tmp_path / folder,
        ) as session:
            status = session.status("staff")
            return status.cap.delta, status.conversion_delta

    parts = (Fraction(1, 2 * 10**6), Fraction(1, 2 * 10**6))
    assert opened(divided("1e-6", HALF), "first") == parts
    assert opened((3, "1e-6"), "first") == parts
    assert opened((3, "1e-6"), "new") == (Fraction(1, 10**8), Fraction(99, 10**8))
    with pytest.raises(InvalidValue, match="another one was given"):
        opened((4, "1e-6"), "first")


class Late(States):
    """States of a session that looks a moment before another draws the salt."""

    looked = False

    def find(self, name: str) -> State:
        if not self.looked:
            self.looked = True
            return NO_STATE
        return super().find(name)


def test_of_two_sessions_that_draw_at_once_both_have_one_salt(tmp_path: Path) -> None:
    home = LedgerFolder.at(tmp_path / "home")
    drawn = salt_of(home.states, "patients")
    late = Late(home.store, home.states._key)
    assert salt_of(late, "patients") == drawn
    home.store.close()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(StoreFailed, match="cannot be created or used as a folder"):
        LedgerFolder.at(tmp_path / "home")


def test_bounds_keep_their_provenance_and_a_question_shows_its_sql(tmp_path: Path) -> None:
    policy = tacit.Bounds.of(0, 9, Provenance.POLICY)
    with tacit.open(
        pd.DataFrame({"who": [1], "x": [1]}),
        population=tacit.Population("staff", tacit.PrivacyUnit("employee")),
        unit="who",
        max_groups=1,
        max_rows=1,
        bounds={"x": policy},
        budget=(1, "1e-6"),
        folder=tmp_path / "home",
    ) as session:
        assert session.catalog.dataset("data").schema["x"].bounds == policy
        asked = session.sql("SELECT SUM(x) AS s FROM data")
        assert repr(asked) == 'SELECT SUM("data"."x") AS "s" FROM "data"'
        assert repr(session) == "<session about staff: data>"
        with pytest.raises(UnknownName, match="no population 'patients'"):
            session.status("patients")
    with pytest.raises(InvalidValue, match="protects one employee"):
        tacit.open(
            pd.DataFrame({"who": [1]}),
            population="staff",
            unit="who",
            max_groups=1,
            max_rows=1,
            folder=tmp_path / "home",
        ).sql("SELECT COUNT(*) FROM data").ask(epsilon="0.1")
