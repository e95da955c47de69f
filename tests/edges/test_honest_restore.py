"""An owner who restores an old copy honestly charges what it has forgotten."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from asking import answer, ask, open_pure, population
from click.testing import CliRunner, Result
from conftest import Bar

from tacit.cli.main import main
from tacit.core.loss import Budget, Loss
from tacit.errors import BudgetExceeded, InvalidValue, LedgerBroken, NotPermitted
from tacit.ledger.anchor_places import FilePlace, FolderPlace, check_place, renew_anchor
from tacit.ledger.chain import Anchor, append, take_anchor
from tacit.ledger.chain_acts import Restored
from tacit.ledger.charge import Units
from tacit.ledger.ledger import Ledger
from tacit.ledger.verify import export, restore
from tacit.session.project import project_and_ledger
from tacit.session.restore import charge_difference
from tacit.store.connect import open_store
from tacit.store.key_files import SigningKey
from tacit.store.store import SqlStore

KEY = SigningKey(bytes(32))
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def backup(path: Path, to: Path) -> None:
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


@dataclass
class Lost:
    """A copy that lacks three charges of a tenth, and the anchor of the ledger that is lost."""

    store: SqlStore
    ledger: Ledger
    anchor: Anchor
    place: FilePlace


@pytest.fixture
def lost(tmp_path: Path) -> Iterator[Lost]:
    newest = open_store(f"sqlite:///{tmp_path}/newest.db")
    ledger, place = Ledger(newest), FilePlace(tmp_path / "anchors")
    open_pure(ledger)
    open_pure(ledger, "1", "staff")
    answer(ledger, ask("kept"))
    backup(tmp_path / "newest.db", tmp_path / "old.db")
    for number in range(3):
        answer(ledger, ask(f"lost {number}"))
    anchor = renew_anchor(newest, place, KEY, ledger._clock)
    assert anchor is not None
    newest.close()
    old = open_store(f"sqlite:///{tmp_path}/old.db")
    yield Lost(old, Ledger(old), anchor, place)
    old.close()


def test_the_difference_is_charged_once_and_the_anchor_is_satisfied(
    lost: Lost, bar: Bar
) -> None:
    with pytest.raises(LedgerBroken, match="put back to an older copy"):
        check_place(lost.store, lost.place, KEY)
    [found] = lost.ledger.charge_difference(lost.anchor, by="olga")
    assert (found.population, found.place) == ("patients", 9)
    assert "0.3" in found.amount
    spent = lost.ledger.status("patients").spent
    bar("spent after an honest restore", str(spent), "as anchored", spent == Loss.pure("0.4"))
    assert check_place(lost.store, lost.place, KEY) == lost.anchor
    assert lost.ledger.charge_difference(lost.anchor, by="olga") == ()
    assert lost.ledger.status("patients").spent == spent
    for verdict in (
        lost.ledger.verify("patients"),
        lost.ledger.verify("patients", lost.anchor),
    ):
        assert verdict.spent == spent
    # the next anchor is the newest one, although it has fewer entries
    after = renew_anchor(lost.store, lost.place, KEY, lambda: 9)
    assert after is not None
    assert (after.entries, after.generation) == (5, 1)
    assert check_place(lost.store, lost.place, KEY) == after
    assert after.heads == take_anchor(lost.store).heads
    answer(lost.ledger, ask("next"))


def test_a_restored_ledger_is_exported_and_restored(lost: Lost, tmp_path: Path) -> None:
    lost.ledger.charge_difference(lost.anchor, by="olga")
    lines = list(export(lost.store))
    other = open_store(f"sqlite:///{tmp_path}/other.db")
    restore(other, lines)
    assert list(export(other)) == lines
    assert check_place(other, lost.place, KEY) == lost.anchor
    Ledger(other).verify("patients")
    other.close()


def test_only_an_owner_charges_it(lost: Lost) -> None:
    before = list(export(lost.store))
    with pytest.raises(NotPermitted, match="does not own the budget of 'patients'"):
        lost.ledger.charge_difference(lost.anchor, by="eve")
    assert list(export(lost.store)) == before


def test_a_difference_that_does_not_fit_needs_the_cap_of_then(lost: Lost) -> None:
    [patients, staff] = lost.anchor.heads
    larger = replace(patients, spent=Units.cost(Loss.pure("1.2")))
    more = replace(lost.anchor, heads=(larger, staff))
    with pytest.raises(BudgetExceeded, match="raise it again"):
        lost.ledger.charge_difference(more, by="olga")
    assert lost.ledger.status("patients").spent == Loss.pure("0.1")
    lost.ledger.raise_cap("patients", Loss.pure("0.5"), "as before", by="olga")
    lost.ledger.charge_difference(more, by="olga")
    assert lost.ledger.status("patients").spent == Loss.pure("1.2")


def test_a_copy_that_was_charged_since_is_refused(lost: Lost) -> None:
    """What it charged is not part of the anchor, so that the difference is too small."""
    answer(lost.ledger, ask("asked of the old copy"))
    with pytest.raises(InvalidValue, match="was used after the newest anchor"):
        lost.ledger.charge_difference(lost.anchor, by="olga")
    for number in range(3):  # it is longer than the anchored one now
        answer(lost.ledger, ask(f"more {number}"))
    with pytest.raises(InvalidValue, match="was used after the newest anchor"):
        lost.ledger.charge_difference(lost.anchor, by="olga")


def test_a_population_that_the_copy_lacks_is_opened_first(lost: Lost, tmp_path: Path) -> None:
    empty = open_store(f"sqlite:///{tmp_path}/empty.db")
    ledger = Ledger(empty)
    with pytest.raises(InvalidValue, match="has no budget of 'patients'"):
        ledger.charge_difference(lost.anchor, by="olga")
    open_pure(ledger)
    open_pure(ledger, "1", "staff")
    assert len(ledger.charge_difference(lost.anchor, by="olga")) == 2
    assert ledger.status("patients").spent == Loss.pure("0.4")
    assert check_place(empty, lost.place, KEY) == lost.anchor
    empty.close()


def change(store: SqlStore, path: Path, statement: str, *values: object) -> SqlStore:
    """Close ``store``, change its file as somebody could who may write it, and open it."""
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in connection.execute(triggers).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement, values)
        connection.commit()
    return open_store(f"sqlite:///{path}")


def test_an_entry_that_says_nothing_of_a_loss_satisfies_no_anchor(
    lost: Lost, tmp_path: Path
) -> None:
    """The column by which the act of a restore is found is not part of the chain."""
    hash_ = lost.anchor.heads[0].hash.hex()
    forge = "UPDATE entries SET state = ? WHERE population = 'patients' AND seq = 2"
    forged = change(lost.store, tmp_path / "old.db", forge, hash_)
    with pytest.raises(LedgerBroken, match="put back to an older copy"):
        check_place(forged, lost.place, KEY)
    assert len(Ledger(forged).charge_difference(lost.anchor, by="olga")) == 1
    assert check_place(forged, lost.place, KEY) == lost.anchor
    forged.close()


def test_a_restore_that_charged_too_little_satisfies_no_anchor(lost: Lost) -> None:
    """Somebody who may write the database writes the act of an owner without a key."""
    patients = lost.anchor.heads[0]
    with lost.store.writing() as work:
        append(work, "patients", Restored(patients.seq, patients.hash.hex(), 0, 0, "olga", 7))
    lost.ledger.verify("patients")
    with pytest.raises(LedgerBroken, match="less is spent under 'patients' than when entry 9"):
        check_place(lost.store, lost.place, KEY)
    with pytest.raises(LedgerBroken, match="less is spent under 'patients'"):
        renew_anchor(lost.store, lost.place, KEY, lambda: 9)
    with pytest.raises(LedgerBroken, match="less is spent than the sum that was anchored"):
        lost.ledger.verify("patients", lost.anchor)


def test_an_anchor_after_a_restore_replaces_none_of_the_same_length(
    lost: Lost, tmp_path: Path
) -> None:
    folder = FolderPlace(tmp_path / "many")
    folder.put(lost.anchor)
    lost.ledger.charge_difference(lost.anchor, by="olga")
    while take_anchor(lost.store).entries < lost.anchor.entries:
        lost.ledger.set_quota("patients", "ann", Loss.pure("0.9"), by="olga")
    after = renew_anchor(lost.store, folder, KEY, lambda: 9)
    assert after is not None
    assert (after.entries, after.generation) == (lost.anchor.entries, 1)
    assert len(list((tmp_path / "many").iterdir())) == 2
    assert check_place(lost.store, folder, KEY) == after


# ------------------------------------------------------------------ by the command line


def tacit(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A demo whose anchors are in a folder elsewhere."""
    shown = tacit("demo", "--folder", tmp_path / "clinic", "--as", "olga")
    assert shown.exit_code == 0, shown.output
    file = tmp_path / "clinic/tacit.toml"
    text = file.read_text()
    assert "[anchors]" in text
    return file


def test_the_commands_of_a_lost_ledger_in_the_order_of_their_messages(
    file: Path, tmp_path: Path
) -> None:
    def run(*words: object) -> str:
        return tacit(*words, "--project", file, "--as", "olga").output

    shutil.copytree(file.parent / ".tacit", tmp_path / "backup")
    assert "This answer cost" in run("ask", COUNT, "--epsilon", "0.2")
    with project_and_ledger(file) as (_, home):
        spent = home.ledger.status("patients").spent
        entries = home.ledger.verify("patients").entries
    # the whole folder is deleted: a new ledger would begin from nothing
    shutil.rmtree(file.parent / ".tacit")
    for words in (("ask", COUNT, "--epsilon", "0.2"), ("apply", "--yes"), ("publish", "list")):
        assert "The ledger was deleted" in run(*words), words
    # a backup has its name
    shutil.rmtree(file.parent / ".tacit")
    shutil.copytree(tmp_path / "backup", file.parent / ".tacit")
    refused = run("ask", COUNT, "--epsilon", "0.3")
    assert "put back to an older copy" in refused
    assert "tacit ledger charge-difference" in refused
    shown = run("ledger", "charge-difference")
    assert f"spent up to entry {entries}" in shown
    assert "nothing was charged" in run("ledger", "charge-difference")
    with project_and_ledger(file) as (_, home):
        assert home.ledger.status("patients").spent == spent
    assert "This answer cost" in run("ask", COUNT, "--epsilon", "0.3")
    verified = tacit("ledger", "verify", "--from-the-start", "--project", file).output
    assert "are consistent and match the anchor" in verified
    lacks = f"restored, which lacked entry {entries}"
    assert lacks in tacit("status", "--project", file).output
    shown = json.loads(tacit("status", "--json", "--project", file).output)
    assert shown["budgets"][0]["restored"] == [entries]
    page = tmp_path / "report.html"
    assert tacit("report", "patients", "--out", page, "--project", file).exit_code == 0
    assert lacks in " ".join(page.read_text().split())


def test_each_owner_charges_for_their_own_population(file: Path, tmp_path: Path) -> None:
    """Until all have done so, the ledger is not used, and its mark is not forgotten."""
    folder = file.parent / ".tacit"
    with project_and_ledger(file) as (_, home):
        staff = population("staff")
        home.ledger.open_budget(staff, Budget(Loss.pure("1")), ("omar",), by="omar")
    backup(folder / "ledger.db", tmp_path / "old.db")
    assert tacit("ask", COUNT, "--epsilon", "0.2", "--project", file).exit_code == 0
    with project_and_ledger(file) as (_, home):
        answer(home.ledger, ask("lost", of=staff))
    for each in folder.glob("ledger.db*"):
        each.unlink()
    shutil.copy(tmp_path / "old.db", folder / "ledger.db")
    [first] = charge_difference(file, by="olga")
    assert first.population == "patients"
    with pytest.raises(LedgerBroken, match="the chain of 'staff' ends before entry"):
        project_and_ledger(file).__enter__()
    assert (folder / "heads").exists()
    [second] = charge_difference(file, by="omar")
    assert second.population == "staff"
    with project_and_ledger(file) as (_, home):
        assert home.ledger.status("staff").spent == Loss.pure("0.1")


def test_anchors_that_are_missing_empty_or_of_another_place(file: Path) -> None:
    def run(*words: object) -> Result:
        return tacit(*words, "--project", file)

    anchors = file.parent / "tacit.anchors"
    lines = anchors.read_text()
    assert lines
    for text in (None, ""):
        anchors.unlink() if text is None else anchors.write_text(text)
        for words in (("status",), ("ask", COUNT, "--epsilon", "0.1"), ("ledger", "verify")):
            shown = run(*words)
            assert shown.exit_code == 1
            assert "There is no anchor in the file" in shown.output
        anchors.write_text(lines)
    assert run("status").exit_code == 0
    anchors.unlink()
    assert "tacit anchor" in run("ledger", "anchor", "--start", "--as", "olga").output
    assert run("status").exit_code == 0
    wrong = run("ledger", "verify", "--anchors", file.parent / "typo")
    assert wrong.exit_code == 1
    assert "There is no anchor in" in wrong.output
