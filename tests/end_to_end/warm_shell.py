"""A shell whose commands begin warm: it loads Tacit once, and forks a process for each command.

Each line of its input is a JSON object with the words of a command, its folder and its
environment. For each it prints a line with the exit code and what the command printed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class WarmShell:
    """Runs commands in processes of their own, without what it takes to load Tacit again."""

    def __init__(self) -> None:
        self._loaded = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, words: list[str], folder: Path, environment: dict[str, str]) -> Any:
        """Return the exit code of a command, and what it printed."""
        assert self._loaded.stdin is not None
        assert self._loaded.stdout is not None
        print(
            json.dumps([words, str(folder), environment]), file=self._loaded.stdin, flush=True
        )
        return json.loads(self._loaded.stdout.readline())

    def close(self) -> None:
        assert self._loaded.stdin is not None
        assert self._loaded.stdout is not None
        self._loaded.stdin.close()
        self._loaded.stdout.close()
        self._loaded.wait()


def _main() -> None:
    from tacit.cli.main import main  # noqa: PLC0415 - what is loaded once

    for line in sys.stdin:
        words, folder, environment = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            for stream in (1, 2):
                os.dup2(writing, stream)
            os.chdir(folder)
            os.environ.update(environment)
            code: object = 1
            try:
                main(words, prog_name="tacit")
            except SystemExit as ended:
                code = ended.code or 0
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code if isinstance(code, int) else 1)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as shown:
            said = shown.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(json.dumps([code, said]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
