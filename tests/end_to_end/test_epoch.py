"""`tacit epoch`: an owner moves tables to new data, by hand or on a schedule."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pytest
from prepared import FILE, QUESTION, ROWS, TEXT, done, tacit

from tacit.errors import DeclarationsChanged, InvalidValue, NotPermitted
from tacit.ledger.charge import utc_day
from tacit.ledger.ledger import wall_clock
from tacit.plan.expression import Span
from tacit.session import project as projects
from tacit.session.epochs import EpochMove, epoch_name
from tacit.session.project import open_project, project_and_ledger
from tacit.stream.stream import covered_until

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A project that is recorded, with a table of epoch 2026-W46."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as owner:
        owner.execute(ROWS)
    made = tmp_path / "tacit.toml"
    made.write_text(TEXT.replace("ENGINE", FILE))
    done(made, "apply", "--yes")
    return made


def answer(file: Path) -> tuple[object, bool]:
    """The number that the question gives, and whether it was charged now."""
    with open_project(file, principal="ann") as session:
        given = session.sql(COUNT).ask(epsilon="0.1")
        return given["n"].values[0], bool(given.standing.cost.amount)


def rows(file: Path, statement: str) -> None:
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        owner.execute(statement)


# ------------------------------------------------------------------ by hand


def test_an_epoch_is_saved_and_recorded_by_apply(file: Path) -> None:
    before = answer(file)
    said = done(file, "epoch", "visits", "--to", "2026-W47")
    assert said.splitlines() == [
        "Moved visits (before: '2026-W46') to epoch '2026-W47'.",
        "Saved to tacit.toml. Run `tacit apply` to record it.",
    ]
    assert 'epoch = "2026-W47"  # each week' in file.read_text()
    with pytest.raises(InvalidValue, match="differs from the ledger"):
        answer(file)
    done(file, "apply", "--yes")
    assert before[1]
    assert answer(file)[1]  # charged again


def test_new_data_is_answered_and_old_answers_stay(file: Path) -> None:
    before, _ = answer(file)
    with open_project(file, principal="ann") as session:
        key = session.sql(COUNT).ask(epsilon="0.1").release_key
    rows(file, "DELETE FROM visits WHERE id > 300")
    assert answer(file) == (before, False)  # the stored answer, until the epoch moves
    said = done(file, "epoch", "visits", "--to", "after the erasure", "--apply")
    assert "Recorded by olga. New questions read the new data and are charged again." in said
    after, charged = answer(file)
    assert charged
    assert float(str(after)) < float(str(before)) - 100
    with project_and_ledger(file) as (_, home):
        assert home.ledger.stored_body(key) is not None
        home.ledger.verify("patients")


def test_without_a_name_the_epoch_and_its_day_are_shown(file: Path) -> None:
    today = utc_day(wall_clock())
    assert today is not None
    said = done(file, "epoch", "visits")
    assert said.startswith("visits: epoch '2026-W46', since 20")
    assert abs(date.fromisoformat(said.split()[-1]) - today) <= timedelta(days=1)
    done(file, "epoch", "visits", "--to", "x")
    assert done(file, "epoch", "visits") == "visits: epoch 'x', not in the ledger yet\n"


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("2026-W99", "there is none of this name"),
        ("2026-02-30", "there is none of this name"),
        ("2026-13", "there is none of this name"),
        ("", "1 to 200 printable characters"),
        ("  ", "not only spaces"),
        ("a\nb", "1 to 200 printable characters"),
        ("x" * 201, "1 to 200 printable characters"),
    ],
)
def test_a_bad_name_is_refused(file: Path, label: str, reason: str) -> None:
    text = file.read_text()
    refused = tacit(file, "epoch", "visits", "--to", label, "--apply")
    assert refused.exit_code == 1
    assert reason in refused.output
    assert file.read_text() == text


def test_a_name_is_used_once(file: Path) -> None:
    done(file, "epoch", "visits", "--to", "b", "--apply")
    text = file.read_text()
    refused = tacit(file, "epoch", "visits", "--to", "2026-W46", "--apply")
    assert "'visits' had the epoch '2026-W46' before, from 20" in refused.output
    assert refused.exit_code == 1
    assert file.read_text() == text
    for words in (("nobody", "--to", "c"), ("visits", "--to", "c", "--every", "week")):
        assert tacit(file, "epoch", *words).exit_code == 1


def test_other_changes_are_not_recorded_along_with_it(file: Path) -> None:
    wider = file.read_text().replace("bounds = [0, 100]", "bounds = [0, 900]")
    file.write_text(wider)
    refused = tacit(file, "epoch", "visits", "--to", "b", "--apply")
    assert "has other changes that are not in the ledger" in refused.output
    assert file.read_text() == wider
    with project_and_ledger(file) as (_, home):
        assert "visits: epoch '2026-W46'" in home.ledger.book("patients").declared


def test_only_an_owner_moves_an_epoch(file: Path) -> None:
    text = file.read_text()
    refused = tacit(file, "epoch", "visits", "--to", "b", "--apply", "--as", "mallory")
    assert "mallory does not own the budget of 'patients'" in refused.output
    assert file.read_text() == text
    with pytest.raises(NotPermitted):
        EpochMove(file, ("visits",), "b").record("mallory")


# ------------------------------------------------------------------ on a schedule


@pytest.mark.parametrize("span", list(Span))
def test_a_period_is_named_when_it_is_over(span: Span) -> None:
    day = date(2024, 1, 1)
    for today in (day + timedelta(days=number) for number in range(800)):
        assert covered_until(epoch_name(span, today)) == span.start(today)


def at(day: str) -> Callable[[object], date]:
    return lambda _: date.fromisoformat(day)


def test_a_schedule_moves_once_a_week(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weekly = ("epoch", "visits", "--every", "week", "--apply")
    monkeypatch.setattr("tacit.ledger.ledger.Ledger.today", at("2026-11-23"))
    later = done(file, *weekly, "--wait", "1")
    assert later == "Already at epoch '2026-W46', and nothing was changed.\n"
    assert "Moved visits (before: '2026-W46') to epoch '2026-W47'." in done(file, *weekly)
    with project_and_ledger(file) as (_, home):
        entries = home.ledger.book("patients").seq
    for _ in range(2):
        assert "nothing was changed" in done(file, *weekly)
    monkeypatch.setattr("tacit.ledger.ledger.Ledger.today", at("2026-11-22"))
    assert tacit(file, *weekly).exit_code == 1  # the clock went back: W46 was used before
    with project_and_ledger(file) as (_, home):
        assert home.ledger.book("patients").seq == entries


def test_what_a_crash_left_is_recorded_by_the_next_run(file: Path) -> None:
    done(file, "epoch", "visits", "--to", "b")  # saved, and then the machine failed
    assert "Recorded by olga." in done(file, "epoch", "visits", "--to", "b", "--apply")
    assert answer(file)[1]


def test_a_ledger_that_fails_leaves_the_file_as_it_was(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = file.read_text()

    def fail(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr("tacit.session.epochs.apply_project", fail)
    with pytest.raises(OSError):  # noqa: PT011 - it has no text
        EpochMove(file, ("visits",), "b").record("olga")
    assert file.read_text() == text


# ------------------------------------------------------------------ in flight, and copies


def test_a_question_in_flight_is_not_charged_under_the_new_epoch(file: Path) -> None:
    with open_project(file, principal="ann") as session:
        question = session.sql(COUNT)
        done(file, "epoch", "visits", "--to", "b", "--apply")
        with pytest.raises(DeclarationsChanged):
            question.ask(epsilon="0.1")
    with project_and_ledger(file) as (_, home):
        assert home.ledger.status("patients").spent.amount == 0


def test_the_copy_of_the_earlier_epoch_is_dropped(file: Path) -> None:
    done(file, "prepare", "visits", "--where", "copies.duckdb")
    said = done(file, "epoch", "visits", "--to", "b", "--apply")
    assert (
        "The earlier copy of visits was dropped. Make a new one: tacit prepare visits" in said
    )
    with duckdb.connect(str(file.parent / "copies.duckdb")) as copies:
        assert copies.execute("SHOW TABLES").fetchall() == []
    assert answer(file)[1]  # from the table itself
    done(file, "prepare", "visits")
    assert "The ordered copy of epoch b is read" in done(file, "ask", QUESTION, "--explain")


def test_a_copy_that_a_crash_left_is_dropped_by_the_next_run(file: Path) -> None:
    done(file, "prepare", "visits", "--where", "copies.duckdb")
    EpochMove(file, ("visits",), "b").record("olga")  # and then the machine failed
    said = done(file, "epoch", "visits", "--to", "b", "--apply")
    assert said.splitlines() == [
        "Already at epoch 'b', and nothing was changed.",
        "The earlier copy of visits was dropped. Make a new one: tacit prepare visits",
    ]


def test_automatic_copies_are_removed_too(file: Path) -> None:
    projects.open_for_serving(file, {})[0].close()
    copies = file.parent / ".tacit" / "copies"
    assert len(list(copies.glob("visits-*.duckdb"))) == 1
    done(file, "epoch", "visits", "--to", "b", "--apply")
    assert list(copies.glob("*.duckdb")) == []
