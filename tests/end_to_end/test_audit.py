"""`tacit audit` and `tacit verify`: a report that is signed, and what it finds of a liar."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tacit.cli.main import main
from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy
from tacit.session.project import open_project

COUNT = "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"
MEDIAN = "SELECT MEDIAN(value) AS v FROM labs"
LITTLE = ("--pairs", "3", "--draws", "20000")
TRIES = 4
"""A bound from draws is wrong once in a thousand times, and then drawn again."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    CliRunner().invoke(main, ["demo", "--folder", str(folder)], catch_exceptions=False)
    return folder / "tacit.toml"


def run(*command: str) -> Result:
    return CliRunner().invoke(main, command, catch_exceptions=False)


def audit(project: Path, *arguments: str) -> Result:
    for _ in range(TRIES):
        done = run("audit", *arguments, *LITTLE, "--project", str(project))
        if done.exit_code != 3:
            break
    return done


def test_a_report_is_signed_and_verified_offline(project: Path, tmp_path: Path) -> None:
    with open_project(project) as session:
        before = session.status().spent
    out, more = tmp_path / "audit.json", tmp_path / "questions.sql"
    more.write_text(f"{MEDIAN};\n")
    (project.parent / "clinic.duckdb").rename(tmp_path / "gone")  # no row of it is read
    done = audit(project, COUNT, "--file", str(more), "--people", "1000", "--out", str(out))
    checked = run("verify", str(out), "--key", json.loads(out.read_text())["key"])
    (tmp_path / "gone").rename(project.parent / "clinic.duckdb")
    assert done.exit_code == 0, done.output
    for line in (COUNT, MEDIAN, "  kept: neighbours: 3 pairs", "  kept: one run: ", "  note: "):
        assert line in done.output
    assert "Every promise was kept, in 4 checks." in done.output
    with open_project(project) as session:
        assert session.status().spent == before  # nothing is charged
    report = json.loads(out.read_text())
    assert [part["subject"] for part in report["report"]["parts"][:2]] == [COUNT, MEDIAN]
    assert report["report"]["made"].endswith("UTC")
    assert checked.exit_code == 0
    assert f"Signed by {report['key']} (the key that you gave)." in checked.output


def test_a_changed_report_and_another_key_are_refused(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    done = audit(project, COUNT, "--people", "0", "--json", "--out", str(out))
    assert done.output == out.read_text()
    whole = out.read_bytes()
    for place in range(0, len(whole), 97):
        out.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        refused = run("verify", str(out))
        assert refused.exit_code == 1, place
    out.write_bytes(whole)
    assert run("verify", str(out)).exit_code == 0
    refused = run("verify", str(out), "--key", "00" * 32)
    assert refused.exit_code == 1
    assert "and not by the key that you gave" in refused.output
    assert run("verify", str(tmp_path / "none.json")).exit_code == 1


def test_a_build_that_lies_has_an_exit_code_of_its_own(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = DiscreteGaussian.draw

    def weaker(self: DiscreteGaussian, entropy: Entropy, count: int) -> Integers:
        return honest(DiscreteGaussian(self.variance * Fraction(1, 9)), entropy, count)

    monkeypatch.setattr(DiscreteGaussian, "draw", weaker)
    out = tmp_path / "audit.json"
    done = audit(project, COUNT, "--people", "0", "--out", str(out))
    assert done.exit_code == 3
    assert "  BROKEN: Gaussian noise" in done.output
    assert "A promise was broken, in 1 of 2 checks." in done.output
    assert not json.loads(out.read_text())["report"]["kept"]
    assert "A promise was broken" in run("verify", str(out)).output


def test_what_cannot_be_audited_or_written_is_refused_before_it_is_begun(
    project: Path,
) -> None:
    done = audit(project, "SELECT COUNT(*) FROM nowhere")
    assert done.exit_code == 1
    assert "nowhere" in done.output
    assert audit(project, "--people", "150").exit_code == 1
    assert audit(project, "--file", "no such file").exit_code == 1
    assert "There is nothing to audit" in audit(project, "--people", "0").output
    mistyped = project.parent / "elsewhere" / "tacit.toml"
    assert audit(mistyped, COUNT).exit_code == 1
    assert not mistyped.parent.exists()
    nowhere = audit(project, COUNT, "--out", "no such folder/audit.json")
    assert "There is no folder no such folder" in nowhere.output
    folder = audit(project, COUNT, "--out", str(project.parent))
    assert "is not a regular file" in folder.output
    assert "is read by this command" in audit(project, COUNT, "--out", str(project)).output
