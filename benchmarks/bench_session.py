"""How long a person waits: a command from cold, and a question in a session that is open."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import polars as pl
from conftest import Bar

import tacit

ROWS, QUESTIONS, COLD = 100_000, 40, 7
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE pay > {}"


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def test_a_warm_count(tmp_path: Path, bar: Bar) -> None:
    """Each question is a new one: parsed, priced, charged to the disk, run and stored."""
    visits = pl.DataFrame(
        {"patient": range(ROWS), "pay": [number % 1000 for number in range(ROWS)]}
    )
    session = tacit.open(
        visits,
        table="visits",
        population="patients",
        unit="patient",
        bounds={"pay": (0, 1000)},
        max_groups=1,
        max_rows=1,
        budget=(3, "1e-6"),
        folder=tmp_path / ".tacit",
    )
    bare = session._curator.engines["here"]._connection
    asked, plain, again = [], [], []
    for number in range(QUESTIONS):
        question = session.sql(COUNT.format(number))
        asked.append(timed(lambda: question.ask(epsilon="0.05")))  # noqa: B023 - run at once
        again.append(timed(lambda: question.ask(epsilon="0.05")))  # noqa: B023
        text = COUNT.format(number)
        plain.append(timed(lambda: bare.execute(text).fetchall()))  # noqa: B023
    session.close()
    here, there, free = (1000 * median(times[2:]) for times in (asked, plain, again))
    bar("bare DuckDB, the same count, ms", there, "told", ok=True)
    bar("a count that was asked before, ms", free, "told", ok=True)
    bar("a new count through a session, ms", here, "under 25", ok=here < 25)


def test_the_command_from_cold(tmp_path: Path, bar: Bar) -> None:
    """With bytecode, as an installed package has it; the first run makes it."""
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path / "bytecode")

    def run(*words: str) -> None:
        command = [sys.executable, "-m", "tacit.cli", *words]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)

    folder = tmp_path / "demo"
    first = timed(lambda: run("demo", "--folder", str(folder)))
    bar("a demo's first answer, with nothing compiled, s", first, "under 60", ok=first < 60)
    ask = ("ask", "SELECT COUNT(*) AS n FROM visits", "--rho", "1e-5", "--project")
    cold = median(timed(lambda: run(*ask, str(folder / "tacit.toml"))) for _ in range(COLD))
    bar("tacit ask from cold, s", cold, "under 1.5", ok=cold < 1.5)
