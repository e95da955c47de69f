"""An officer reads the ledger, exports it, and restores it in another place."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from shutil import copy, copytree

import pytest
from click.testing import CliRunner, Result

from tacit.cli.main import main
from tacit.errors import LedgerBroken
from tacit.session.ledger_files import restore_ledger
from tacit.session.project import open_project, project_and_ledger

NewStore = Callable[[str], str]
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def tacit(*words: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], input=typed)


def said(*words: object, code: int = 0) -> str:
    """What a command printed, which ended with this exit code."""
    result = tacit(*words)
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo with questions of two analysts and a publication."""
    folder = tmp_path_factory.mktemp("officer") / "clinic"
    file = folder / "tacit.toml"
    said("demo", "--folder", folder, "--as", "olga")
    said("ask", COUNT, "--epsilon", "0.1", "--as", "ann", "--project", file)
    weekly = ("--day", "day", "--from", "2026-01-05", "--steps", "4", "--epsilon", "0.5")
    said("publish", "declare", "weekly", COUNT, *weekly, "--as", "olga", "--project", file)
    today = ("--today", "2026-01-13", "--into", folder / "published")
    said("publish", "run", *today, "--as", "olga", "--project", file)
    return folder


@pytest.fixture
def file(made: Path) -> Path:
    return made / "tacit.toml"


def test_the_ledger_is_shown_in_words(file: Path) -> None:
    shown = said("ledger", "show", "patients", "--project", file)
    heading, first, *lines = shown.splitlines()
    assert heading.split() == [
        "entry",
        "when",
        "(UTC)",
        "who",
        "kind",
        "epsilon",
        "what",
        "decision",
        "receipt",
    ]
    assert "olga" in first
    assert "budget of epsilon 3, delta 0.000001 (rho 0.184928) for each person" in first
    charges = [line for line in lines if " charge " in line]
    assert all(re.search(r"answered  [0-9a-f]{12}$", line) for line in charges)
    of_ann = said("ledger", "show", "patients", "--analyst", "ann", "--project", file)
    assert len(of_ann.splitlines()) == 2
    assert " 0.1 " in of_ann
    nothing = said("ledger", "show", "patients", "--until", "1999-12-31", "--project", file)
    assert nothing == "No entry of the ledger of patients fits.\n"
    wrong = said("ledger", "show", "patients", "--kind", "x", "--project", file, code=1)
    assert "The kinds are: answer, approval, cap, charge, checkpoint, declaration," in wrong


def test_programs_read_the_ledger_and_the_status(file: Path) -> None:
    told = json.loads(
        said("ledger", "show", "patients", "--kind", "charge", "--json", "--project", file)
    )
    assert [line["who"] for line in told["lines"]].count("ann") == 1
    (budget,) = json.loads(said("status", "--json", "--project", file))["budgets"]
    spent = sum(float(line["cost"]["amount"]) for line in told["lines"])
    assert float(budget["spent"]["amount"]) == pytest.approx(spent)
    assert (budget["frozen"], budget["locked"], budget["owners"]) == (False, False, ["olga"])
    said("freeze", "patients", "--as", "olga", "--project", file)
    frozen = json.loads(said("status", "--json", "--project", file))
    assert frozen["budgets"][0]["frozen"]
    assert frozen["unrecorded"] is None
    assert "tacit thaw patients" in said("status", "--project", file)
    quote = ("ask", COUNT, "--epsilon", "0.2", "--quote", "--project", file)
    stopped = "An owner has stopped all charges about patients."
    assert stopped in said(*quote)
    assert stopped in said("quota", "list", "patients", "--project", file)
    stored = said("ask", COUNT, "--epsilon", "0.1", "--json", "--project", file)
    assert json.loads(stored)["budget"]["stopped"].startswith(stopped)
    said("thaw", "patients", "--as", "olga", "--project", file)
    assert stopped not in said(*quote)
    with open_project(file, principal="ann") as session:
        assert [line.who for line in session.history(analyst="ann")] == ["ann"]
        assert "left for one question: epsilon " in str(session.status())


def test_a_freeze_does_not_wait_for_the_place_of_anchors(file: Path) -> None:
    anchors, aside = file.parent / "tacit.anchors", file.parent / "aside"
    anchors.rename(aside)
    anchors.mkdir()
    told = said("freeze", "patients", "--as", "olga", "--project", file, code=1)
    assert "All charges about patients are stopped." in told
    assert "cannot be read" in told
    anchors.rmdir()
    aside.rename(anchors)
    assert "tacit thaw patients" in said("status", "--project", file)
    said("thaw", "patients", "--as", "olga", "--project", file)


def test_a_ledger_goes_on_in_another_place(file: Path, tmp_path: Path) -> None:
    export = tmp_path / "export"
    shown = said("ledger", "export", export, "--project", file)
    assert "entries, verified" in shown
    assert "Only the sealing key opens the states" in shown
    assert "not empty" in said("ledger", "export", export, "--project", file, code=1)
    assert "verified" in said("ledger", "restore", export, "--check", "--project", file)

    new = tmp_path / "new"
    copytree(file.parent, new, ignore=lambda *_: [".tacit"])
    key = file.parent / ".tacit" / "key"
    words = ("ledger", "restore", export, "--project", new / "tacit.toml", "--sealing-key", key)
    assert "restored and verified" in said(*words)
    assert "not empty" in said(*words, code=1)
    with (
        project_and_ledger(file) as (_, old),
        project_and_ledger(new / "tacit.toml") as (_, is_new),
    ):
        assert is_new.ledger.history("patients") == old.ledger.history("patients")
        is_new.ledger.verify("patients")
    # the tables are in another place too, which an owner records
    said("apply", "--yes", "--as", "olga", "--project", new / "tacit.toml")
    again = said(
        "ask", COUNT, "--epsilon", "0.1", "--as", "ann", "--project", new / "tacit.toml"
    )
    assert "This answer was paid for before." in again
    # the publication goes on with its noise and its charge
    today = ("--today", "2026-01-20", "--into", new / "published", "--as", "olga")
    released = said("publish", "run", *today, "--project", new / "tacit.toml")
    assert "2026-01-12 released" in released
    assert "2026-01-05 released" not in released


def test_without_the_key_nothing_is_drawn_again(file: Path, tmp_path: Path) -> None:
    export, new = tmp_path / "export", tmp_path / "ledger"
    said("ledger", "export", export, "--project", file)
    shown = said("ledger", "restore", export, "--into", new)
    assert "Without the sealing key" in shown
    copy(file, tmp_path / "tacit.toml")
    copy(file.parent / "clinic.duckdb", tmp_path / "clinic.duckdb")
    new.rename(tmp_path / ".tacit")
    project = ("--project", tmp_path / "tacit.toml")
    moved = ("apply", "--yes", "--as", "olga", *project)
    assert "There is no anchor" in said(*moved, code=1)
    # the key of the earlier ones is not here
    assert "tacit anchor" in said("ledger", "anchor", "--start", "--as", "olga", *project)
    said("apply", "--yes", "--as", "olga", "--project", tmp_path / "tacit.toml")
    listed = said("publish", "list", "--project", tmp_path / "tacit.toml")
    assert listed == ""


def test_a_restore_that_fails_leaves_nothing_behind(file: Path, tmp_path: Path) -> None:
    export, new = tmp_path / "export", tmp_path / "new"
    said("ledger", "export", export, "--project", file)
    wrong = tmp_path / "wrong"
    wrong.write_text("A" * 43 + "=\n")
    wrong.chmod(0o600)
    told = said("ledger", "restore", export, "--into", new, "--sealing-key", wrong, code=1)
    assert "cannot be decrypted" in told
    missing = said(
        "ledger", "restore", export, "--into", new, "--sealing-key", tmp_path / "no", code=1
    )
    assert "There is no key in" in missing
    assert not (tmp_path / "no").exists()
    lines = (export / "ledger.jsonl").read_bytes()
    (export / "ledger.jsonl").write_bytes(lines.replace(b"ann", b"bob", 1))
    with pytest.raises(LedgerBroken, match="was changed after the backup was written"):
        restore_ledger(export, into=new)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["export", "wrong"]


def test_a_ledger_goes_on_in_a_database(
    file: Path, tmp_path: Path, new_store: NewStore
) -> None:
    export, key = tmp_path / "export", file.parent / ".tacit" / "key"
    said("ledger", "export", export, "--project", file)
    new = tmp_path / "tacit.toml"
    address = new_store("postgresql")
    new.write_text(file.read_text() + f'\n[store]\naddress = "{address}"\n')
    for name in ("clinic.duckdb", "tacit.anchors"):
        copy(file.parent / name, tmp_path / name)
    words = ("ledger", "restore", export, "--project", new)
    earlier = said(*words, "--key", key)
    assert "is called --sealing-key now" in earlier
    assert "restored and verified" in earlier
    assert (tmp_path / ".tacit" / "key").read_bytes() == key.read_bytes()
    assert "has a sealing key already" in said(*words, "--sealing-key", key, code=1)
    assert "not empty" in said(*words, code=1)
    said("apply", "--yes", "--as", "olga", "--project", new)
    again = said("ask", COUNT, "--epsilon", "0.1", "--as", "ann", "--project", new)
    assert "This answer was paid for before." in again
    assert "weekly: 1 of 4 weeks" in said("publish", "list", "--project", new)
