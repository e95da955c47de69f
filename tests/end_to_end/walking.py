"""Walks a page: types its commands, its SQL and its Python as they stand there."""

import ast
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from click.testing import CliRunner, Result

import tacit
from tacit.cli.main import main

BLOCKS = re.compile(r"```(console|python|sql|toml)\n(.*?)```", flags=re.DOTALL)
WAIT_SECONDS = 120


@dataclass
class Walk:
    """A person who types what a page says; ``wrong`` is what ended otherwise than told."""

    patch: pytest.MonkeyPatch
    wrong: list[str] = field(default_factory=list)
    servers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)

    def through(self, page: str) -> list[str]:
        """Walk the whole page."""
        try:
            for kind, text in BLOCKS.findall(page):
                getattr(self, f"_{kind}")(text)
        finally:
            for server in self.servers:
                server.kill()
                server.wait()
        return self.wrong

    def _console(self, text: str) -> None:
        for line, after in _with_next(text.splitlines()):
            if line.startswith("$ "):
                told = after.removeprefix("error: ") if after.startswith("error: ") else None
                self._typed(line.removeprefix("$ "), told)

    def _typed(self, line: str, told: str | None) -> None:
        if named := re.fullmatch(r"export (\w+)=\$\((.*)\)", line):
            done = self._tacit(named[2], told)
            self.patch.setenv(named[1], done.output.strip())
        elif line.endswith(" &"):
            self._serve(shlex.split(line.removesuffix(" &")))
        elif line == "kill %1":
            self._kill()
        elif line.startswith("cd "):
            os.chdir(line.removeprefix("cd "))
        elif " | psql " in line:
            made, _, database = line.partition(" | psql ")
            self._psql(database, self._tacit(made, told).output)
        else:
            self._tacit(line, told)

    def _tacit(self, line: str, told: str | None) -> Result:
        program, *words = shlex.split(line)
        assert program == "tacit"
        done = CliRunner().invoke(main, words)
        right = done.exit_code == 0 if told is None else told in done.output
        if not right or (done.exit_code == 0) != (told is None):
            self.wrong.append(f"{line}\n{done.output}{done.exception or ''}")
        return done

    def _psql(self, database: str, text: str) -> None:
        command = ["psql", "-q", "-v", "ON_ERROR_STOP=1", database]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            self.wrong.append(f"psql {database}\n{done.stderr}")

    def _toml(self, text: str) -> None:
        """A file, whose name is the comment that it begins with."""
        Path(text.splitlines()[0].removeprefix("# ")).write_text(text)

    def _sql(self, text: str) -> None:
        self._psql("clinic", text)

    def _serve(self, words: list[str]) -> None:
        command = [sys.executable, "-m", "tacit.cli", *words[1:]]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.servers.append(server)
        health = f"http://127.0.0.1:{words[words.index('--port') + 1]}/health"
        for _ in range(WAIT_SECONDS * 10):
            try:
                with urlopen(health, timeout=5):
                    return
            except URLError:
                if server.poll() is not None:  # who is dead is not waited for
                    break
                time.sleep(0.1)
        self.wrong.append(f"{' '.join(words)}: it does not answer")

    def _kill(self) -> None:
        self.servers[-1].terminate()
        # it ends what it does, and then as the signal wants
        if self.servers[-1].wait(WAIT_SECONDS) not in {0, -SIGTERM}:
            self.wrong.append("kill %1: the server did not end well")

    def _python(self, text: str) -> None:
        lines = text.splitlines()
        for statement in ast.parse(text).body:
            line = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
            code, _, told = line.partition("# error: ")
            try:
                exec(code, self.names)  # noqa: S102 - our own page
            except Exception as error:  # noqa: BLE001 - it is looked at
                if (
                    not told
                    or told not in str(error)
                    or not isinstance(error, tacit.TacitError)
                ):
                    self.wrong.append(f"{line}\n{error!r}")
            else:
                if told:
                    self.wrong.append(f"{line}\nno error")


def _with_next(lines: list[str]) -> Iterator[tuple[str, str]]:
    yield from zip(lines, [*lines[1:], ""], strict=True)
