"""The commands of the first hour run as they stand on its page."""

import os
import re
import shlex
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from tacit.cli.clinic import TABLES
from tacit.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs/tutorials/first-hour.md").read_text()


def wrong(page: str) -> list[str]:
    """The commands that end otherwise than the page says."""
    found = []
    lines = "\n".join(re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL)).splitlines()
    for place, line in enumerate(lines):
        if not line.startswith("$ "):
            continue
        program, *words = shlex.split(line[2:])
        if program == "cd":
            os.chdir(words[0])
            continue
        after = lines[place + 1] if place + 1 < len(lines) else ""
        told = after.removeprefix("error: ") if after.startswith("error: ") else None
        done = CliRunner().invoke(main, words)
        right = done.exit_code == 0 if told is None else told in done.output
        if not right or (done.exit_code == 0) != (told is None):
            found.append(f"{line}\n{done.output}")
    return found


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a database of one's own."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("clinic.duckdb") as owner:
        for statement in TABLES:
            owner.execute(statement)


def test_the_first_hour_goes_as_it_is_told() -> None:
    assert PAGE.count("\n$ tacit ") >= 20
    assert wrong(PAGE) == []


def test_a_command_that_ends_otherwise_is_found() -> None:
    assert len(wrong("```console\n$ tacit status\n```")) == 1
    assert len(wrong("```console\n$ tacit demo\nerror: nothing\n```")) == 1
