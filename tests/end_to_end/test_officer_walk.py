"""An officer walks the guides: reads, governs, exports, certifies, and loses ledgers.

Each step has its refusal next to it.
"""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from conftest import Bar, given_seconds
from warm_shell import WarmShell

from tacit.ledger import fingerprint

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE cost > 500"
WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
STOPPED = "An owner has stopped all charges"
NEXT = "restore the newest copy"
"""What each error of a lost ledger says to do."""


@dataclass
class Officer:
    """A person at a shell, who counts what was done and what was refused."""

    shell: WarmShell
    folder: Path
    did: int = 0
    refusals: int = 0
    began: float = field(default_factory=given_seconds)
    wrong: list[str] = field(default_factory=list)

    def run(self, *words: object, **environment: str) -> str:
        """Return what a command prints, which must succeed."""
        code, said = self.shell.run([str(word) for word in words], self.folder, environment)
        self.did += 1
        assert code == 0, f"{words}: {said}"
        return str(said)

    def refused(self, told: str, *words: object) -> None:
        """A command must be refused with these words, and without a traceback."""
        code, said = self.shell.run([str(word) for word in words], self.folder, {})
        said = " ".join(said.split())
        self.refusals += 1
        if code not in {1, 2} or told not in said or "Traceback" in said:
            self.wrong.append(f"{' '.join(map(str, words))}: {told!r} is not in {said!r}")

    def key(self, owner: str) -> Path:
        return self.folder.parent / f"{owner}.key"

    def signed(self, owner: str) -> tuple[object, ...]:
        return "--as", owner, "--key", self.key(owner)

    def status(self) -> Any:
        (budget,) = json.loads(self.run("status", "--json"))["budgets"]
        return budget

    def moved(self, name: str) -> "Officer":
        """Return the same person before a copy of the project, to lose its ledger there."""
        folder = self.folder.parent / name
        shutil.copytree(self.folder, folder)
        return Officer(self.shell, folder, wrong=self.wrong)

    @property
    def ledger(self) -> Path:
        return self.folder / ".tacit" / "ledger.db"


@pytest.fixture
def shell() -> Iterator[WarmShell]:
    made = WarmShell()
    yield made
    made.close()


@pytest.fixture
def governed(shell: WarmShell, tmp_path: Path) -> Officer:
    """A demo with two owners, each with a key that the other one approved."""
    folder = tmp_path / "officer" / "clinic"
    folder.parent.mkdir()
    officer = Officer(shell, folder.parent)
    officer.run("demo", "--folder", folder, "--as", "olga")
    officer.folder = folder
    for owner in ("olga", "omar"):
        officer.run("key", "new", officer.key(owner))
    officer.refused("already exists", "key", "new", officer.key("olga"))
    officer.refused(
        "does not own", "key", "set", "patients", officer.key("omar"), "--as", "omar"
    )
    officer.run("key", "set", "patients", officer.key("olga"), "--as", "olga")
    file = folder / "tacit.toml"
    file.write_text(file.read_text().replace('owners = ["olga"]', 'owners = ["olga", "omar"]'))
    officer.refused("nothing was recorded", "apply", "--yes", "--as", "olga")
    officer.run("apply", "--yes", *officer.signed("olga"))
    proposed = officer.run("key", "set", "patients", officer.key("omar"), "--as", "omar")
    shown = officer.run("key", "show", officer.key("omar")).split()[-1]
    approve = ("ledger", "approve", "patients", number_in(proposed), *officer.signed("olga"))
    officer.refused("in person or by telephone", *approve)
    other = "0000" + shown[4:]
    officer.refused("another one than you gave", *approve, "--fingerprint", other)
    officer.run(*approve, "--fingerprint", shown)
    listed = officer.run("key", "list", "patients")
    assert f"omar: {shown}" in listed
    return officer


def number_in(proposed: str) -> str:
    found = re.search(r"[Pp]roposal (\d+)", proposed)
    assert found is not None, proposed
    return found[1]


def flipped(file: Path) -> Path:
    """Return a copy of a file with one changed byte, in its middle."""
    read = bytearray(file.read_bytes())
    read[len(read) // 2] ^= 1
    made = file.with_name(f"changed-{file.name}")
    made.write_bytes(read)
    return made


def read_and_filter_the_ledger(officer: Officer) -> None:
    show = ("ledger", "show", "patients")
    assert "opening" in officer.run(*show)
    assert len(officer.run(*show, "--kind", "opening").splitlines()) == 2
    assert "older entries fit too" in officer.run(*show, "--limit", 1)
    assert "No entry" in officer.run(*show, "--until", "1999-12-31")
    lines = json.loads(officer.run(*show, "--kind", "charge", "--json"))["lines"]
    assert [line["decision"] for line in lines] == ["answered"]
    officer.refused("is not a kind of entry", *show, "--kind", "x")
    officer.refused("A day must be written as in", *show, "--since", "yesterday")
    officer.refused("There is no budget for the population", "ledger", "show", "nobody")


def raise_a_cap_with_two_keys(officer: Officer) -> None:
    before = officer.status()["total"]["amount"]
    officer.run("budget", "patients", "--epsilon", 4, "--delta", "1e-6")
    apply = ("apply", "--yes", *officer.signed("olga"))
    officer.refused("the ledger keeps the reason", *apply)
    place = number_in(officer.run(*apply, "--reason", "a second study"))
    approve = ("ledger", "approve", "patients", place)
    officer.refused("by another owner", *approve, *officer.signed("olga"))
    officer.refused("this one was not", *approve, "--as", "omar")
    officer.refused("and not with", *approve, "--as", "omar", "--key", officer.key("olga"))
    assert officer.status()["total"]["amount"] == before
    officer.run(*approve, *officer.signed("omar"))
    assert (before, officer.status()["total"]["amount"]) == ("3", "4")
    # the delta beside an epsilon includes that of the conversion, wherever a cap is printed
    assert "epsilon 4, delta 0.000001 (" in officer.run("ledger", "verify")


def stop_charges_and_go_on(officer: Officer) -> None:
    officer.refused("does not own", "freeze", "patients", "--as", "ann")
    officer.run("freeze", "patients", "--as", "olga")
    ask = ("ask", COUNT, "--epsilon", "0.1", "--as", "ann")
    officer.refused(STOPPED, *ask)
    assert STOPPED in officer.run(*ask, "--quote")
    assert officer.status()["frozen"]
    officer.refused("this one was not", "thaw", "patients", "--as", "omar")
    officer.run("thaw", "patients", *officer.signed("omar"))
    officer.refused("are not stopped", "thaw", "patients", *officer.signed("omar"))
    assert "receipt" in json.loads(officer.run(*ask, "--json"))


def export_restore_and_compare(officer: Officer, tmp_path: Path) -> None:
    tmp_path.mkdir()
    export, into, kept = tmp_path / "export", tmp_path / "into", tmp_path / "kept.anchors"
    officer.run("ledger", "export", export)
    officer.refused("not empty", "ledger", "export", export)
    assert "verified" in officer.run("ledger", "restore", export, "--check")
    key = ("--key", officer.folder / ".tacit" / "key")
    restored = officer.run("ledger", "restore", export, "--into", into, *key)
    assert "restored and verified" in restored
    officer.refused("not empty", "ledger", "restore", export, "--into", into, *key)
    changed = tmp_path / "changed"
    shutil.copytree(export, changed)
    flipped(changed / "ledger.jsonl").replace(changed / "ledger.jsonl")
    wrong = ("ledger", "restore", changed)
    officer.refused("was changed after the backup", *wrong, "--check")
    officer.refused("was changed after the backup", *wrong, "--into", tmp_path / "no")
    assert not (tmp_path / "no").exists()

    officer.run("ledger", "anchor", kept)
    verify = ("ledger", "verify", "--anchors")
    assert "match the anchor" in officer.run(*verify, kept, "--from-the-start")
    officer.refused("not an anchor any more", *verify, flipped(kept))
    officer.refused("There is no anchor in", *verify, tmp_path / "none")


def verify_documents_offline(officer: Officer, tmp_path: Path) -> None:
    ask = ("ask", WARDS, "--epsilon", "0.1", "--as", "ann", "--json")
    receipt = json.loads(officer.run(*ask))["receipt"]
    page, text, report = (tmp_path / name for name in ("c.html", "c.json", "report.html"))
    offline = Officer(officer.shell, tmp_path, wrong=officer.wrong)  # no project is here
    told = officer.run("certificate", receipt, "--out", page)
    officer.run("certificate", receipt, "--out", text)
    assert officer.run("report", "patients", "--out", report).split()[-1] in told
    officer.refused("no charge with the receipt", "certificate", "00" * 32)
    officer.refused("There is no budget", "report", "nobody", "--out", tmp_path / "no.html")
    key = told.split()[-1].rstrip(".")
    for file in (page, text, report):
        assert "unchanged" in offline.run("verify", file, "--key", key)
        offline.refused("not by the key that you gave", "verify", file, "--key", "00" * 32)
        offline.refused("file", "verify", flipped(file), "--key", key)
    assert "never use more than epsilon 4, delta 0.000001 (" in page.read_text()
    record = tmp_path / "record.yaml"
    officer.run("registry", "patients", "--name", "Wards", "--out", record)
    assert "the cap, epsilon 4, delta 0.000001 (" in record.read_text()
    officer.refused("There is no budget", "registry", "nobody", "--out", record)
    officer.did += offline.did
    officer.refusals += offline.refusals


# ------------------------------------------------------------------ four disasters


UNKNOWN_KEY = "neither the key of this ledger"
"""What is said of anchors where the key of the installation was lost with its ledger."""


def refused_everywhere(lost: Officer, *told: str) -> None:
    """Nothing uses a lost ledger, and each command says what was lost and what to do."""
    for command in (
        ("status",),
        ("ask", "SELECT COUNT(*) AS n FROM labs", "--epsilon", "0.2", "--as", "ann"),
        ("ledger", "verify"),
        ("apply", "--yes", *lost.signed("olga")),
        ("ledger", "show", "patients"),
    ):
        for words in told:
            lost.refused(words, *command)


def restored_again(lost: Officer, export: Path, key: Path) -> None:
    """What the page says: move what is left aside, and restore the newest export."""
    restore = ("ledger", "restore", export, "--sealing-key", key)
    lost.refused("is not empty", *restore)  # the folder that is left is evidence
    (lost.folder / ".tacit").rename(lost.folder / ".tacit-lost")
    lost.run(*restore)
    assert "match the anchor" in lost.run("ledger", "verify", "--from-the-start")


def set_keys(lost: Officer) -> None:
    """Set the keys of both owners, as for the first time."""
    for owner, other in (("olga", ("--as", "omar")), ("omar", lost.signed("olga"))):
        key = lost.key(owner)
        place = number_in(lost.run("key", "set", "patients", key, "--as", owner))
        shown = lost.run("key", "show", key).split()[-1]
        lost.run("ledger", "approve", "patients", place, *other, "--fingerprint", shown)


def begun_without_a_copy(lost: Officer) -> None:
    """What the page says if there is neither a copy nor an export."""
    file = lost.folder / "tacit.toml"
    whole = file.read_text()
    lines = re.sub(r"^(\[anchors\]|file = )", r"# \1", whole, flags=re.MULTILINE)
    file.write_text(lines)
    lost.run("apply", "--yes", "--as", "olga")
    difference = ["ledger", "charge-difference", "--anchors", "tacit.anchors"]
    lost.refused("neither the key of this ledger", *difference, "--as", "olga")
    newest = json.loads((lost.folder / "tacit.anchors").read_text().splitlines()[-1])
    difference += ["--anchor-key", fingerprint(newest["key"])]
    lost.refused("does not own", *difference, "--as", "ann")
    lost.refused("First set the keys of the owners again", *difference, "--as", "olga")
    set_keys(lost)
    lost.run(*difference, *lost.signed("olga"))
    file.write_text(whole)
    lost.refused("was not signed with the key of this ledger", "status")
    lost.refused("begun with the key of olga", "ledger", "anchor", "--start", "--as", "olga")
    lost.run("ledger", "anchor", "--start", *lost.signed("olga"))


def lose_and_restore_ledgers(officer: Officer, tmp_path: Path) -> tuple[int, int]:
    """Return how many ledgers were lost, and how many of them know again what was spent."""
    older, export = tmp_path / "older", tmp_path / "export"
    shutil.copytree(officer.folder / ".tacit", older)
    officer.run("ask", WARDS, "--epsilon", "0.3", "--as", "ann")
    spent = officer.status()["spent"]
    officer.run("ledger", "export", export)
    key = older / "key"
    disasters = []

    gone = officer.moved("gone")
    shutil.rmtree(gone.folder / ".tacit")
    refused_everywhere(gone, "The ledger was deleted", NEXT)
    gone.refused(UNKNOWN_KEY, "ledger", "charge-difference", *gone.signed("olga"))
    restored_again(gone, export, key)
    disasters.append(gone)

    put_back = officer.moved("put-back")
    shutil.rmtree(put_back.folder / ".tacit")
    shutil.copytree(older, put_back.folder / ".tacit")
    refused_everywhere(put_back, "put back to an older copy", NEXT)
    difference = ("ledger", "charge-difference")
    put_back.refused("does not own", *difference, "--as", "ann")
    put_back.refused("this one was not", *difference, "--as", "olga")
    charged = put_back.run(*difference, *put_back.signed("olga"))
    assert "which was spent up to entry" in charged
    disasters.append(put_back)

    cut = officer.moved("cut")
    with cut.ledger.open("r+b") as file:
        file.truncate(cut.ledger.stat().st_size // 3)
    refused_everywhere(cut, "its file is damaged", NEXT)
    restored_again(cut, export, key)
    disasters.append(cut)

    another = officer.moved("another")
    shutil.rmtree(another.folder / ".tacit")
    another.run("demo", "--folder", another.folder.parent / "e", "--as", "olga")
    shutil.copytree(another.folder.parent / "e" / ".tacit", another.folder / ".tacit")
    refused_everywhere(another, "It belongs to another ledger", NEXT)
    another.refused(UNKNOWN_KEY, *difference, *another.signed("olga"))
    restored_again(another, export, key)
    disasters.append(another)

    nothing = officer.moved("nothing")
    shutil.rmtree(nothing.folder / ".tacit")
    begun_without_a_copy(nothing)
    disasters.append(nothing)

    found = [each.status()["spent"] for each in disasters]
    officer.did += sum(each.did for each in disasters)
    officer.refusals += sum(each.refusals for each in disasters)
    return len(disasters), sum(each == spent for each in found)


def test_an_officer_walks_the_guides(governed: Officer, tmp_path: Path, bar: Bar) -> None:
    """It is one test, so that its figures count the whole walk wherever tests run."""
    read_and_filter_the_ledger(governed)
    raise_a_cap_with_two_keys(governed)
    stop_charges_and_go_on(governed)
    export_restore_and_compare(governed, tmp_path / "compared")
    verify_documents_offline(governed, tmp_path)
    lost, found = lose_and_restore_ledgers(governed, tmp_path)
    assert governed.wrong == []
    bar("lost ledgers whose loss is charged again", found, "5", found == lost == 5)
    did, refusals = governed.did, governed.refusals
    bar("commands of an officer that do what the guides say", did, "at least 40", did >= 40)
    bar("refusals that say what is wrong", refusals, "at least 60", refusals >= 60)
    seconds = given_seconds() - governed.began  # a minute on two cores
    bar("seconds of the walk", seconds, "at most 600", seconds <= 600)
