"""How long status, apply, start and verify take after 10^4 charges, and after a million.

The tables are those of the demo. The charges are written by `many_charges`, and the chain is
walked once from its start, which writes a checkpoint. Each command is then run as a person runs
it, and once more inside this process, where its time is compared with that of a short chain.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from math import inf
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import Bar, given_seconds
from many_charges import add_charges

from tacit.cli.main import main
from tacit.core.event import GaussianNoise
from tacit.session.project import open_for_serving, project_and_ledger

CHARGES = int(os.environ.get("TACIT_CHECKPOINT_CHARGES", "1000000"))
FEW = int(os.environ.get("TACIT_CHECKPOINT_FEW", "10000"))
MOST_SECONDS, MOST_RATIO = 2.0, 1.2
RUNS, COLD_RUNS = 9, 3
EVENT = GaussianNoise(Fraction(1), variance=Fraction(10**7))

COMMANDS = {
    "status": ("status",),
    "apply": ("apply", "--yes", "--as", "olga"),
    "verify": ("ledger", "verify"),
}


def tacit(*words: object) -> str:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


def cold(file: Path, *words: str) -> None:
    command = [sys.executable, "-m", "tacit.cli", *words, "--project", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def start(file: Path) -> None:
    curator, _ = open_for_serving(file)
    curator.close()


def least(runs: int, run: Callable[[], object]) -> float:
    """The least of several times, since others can only make one longer."""
    found = []
    for _ in range(runs):
        began = given_seconds()
        run()
        found.append(given_seconds() - began)
    return min(found)


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    made = {}
    for charges in (FEW, CHARGES):
        folder = tmp_path_factory.mktemp("clinic") / str(charges)
        tacit("demo", "--folder", folder, "--as", "olga")
        file = folder / "tacit.toml"
        budget = 'budget = { epsilon = 3, delta = "1e-6"'
        text = file.read_text()
        assert budget in text
        file.write_text(text.replace(budget, f"{budget}, least = 0"))
        tacit("apply", "--yes", "--as", "olga", "--project", file)
        with project_and_ledger(file) as (_, home):
            add_charges(home.store, "patients", charges, EVENT, 1)
            began = given_seconds()
            verdict = home.ledger.verify("patients", from_the_start=True)
            walked = given_seconds() - began
        print(f"{charges} charges, {verdict.entries} entries: walked in {walked:.1f} s")
        start(file)  # makes the copies that are served
        made[charges] = file
    return made


@pytest.mark.parametrize("what", [*COMMANDS, "start"])
def test_what_is_read_after_a_checkpoint_does_not_grow(
    projects: dict[int, Path], what: str, bar: Bar
) -> None:
    words = COMMANDS.get(what)

    def run(file: Path) -> None:
        if words is None:
            start(file)
        else:
            tacit(*words, "--project", file)

    warm = dict.fromkeys(projects, inf)
    for _ in range(RUNS):  # in turns, so that a busy moment is one of both
        for charges, file in projects.items():
            warm[charges] = min(warm[charges], least(1, lambda file=file: run(file)))
    seconds, few = warm[CHARGES], warm[FEW]
    if words is not None:
        file = projects[CHARGES]
        whole = least(COLD_RUNS, lambda: cold(file, *words))
        name = f"seconds of `tacit {' '.join(words)}` from cold, {CHARGES} charges"
        bar(name, whole, f"below {MOST_SECONDS}", whole < MOST_SECONDS)
    name = f"seconds of {what} in an open process, {CHARGES} charges"
    bar(name, seconds, f"below {MOST_SECONDS}", seconds < MOST_SECONDS)
    ratio = seconds / few
    name = f"{what} with {CHARGES} charges over {FEW}"
    bar(name, ratio, f"at most {MOST_RATIO}", ratio <= MOST_RATIO)
