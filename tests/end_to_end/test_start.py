"""The command as a process ends at once, and still says and does all that it should."""

import subprocess
import sys

import pytest

HEAD = """
import atexit, os, sys, threading, time
import click
from tacit.cli import __main__ as start
"""


def ended(body: str, how: str = "start.start()") -> subprocess.CompletedProcess[str]:
    """A process whose command does ``body``."""
    command = f"@click.command()\ndef main():\n    {body}\nstart.main = main"
    return subprocess.run(
        [sys.executable, "-c", f"{HEAD}{command}\n{how}"],
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("pass", 0),
        ("sys.exit(3)", 3),
        ("raise click.ClickException('refused')", 1),
        ("raise click.UsageError('not so')", 2),
        ("sys.exit('a text')", 1),
    ],
)
def test_the_code_is_the_commands(body: str, code: int) -> None:
    done = ended(body)
    assert done.returncode == code
    assert ("Traceback" in done.stderr) is False


def test_all_that_was_printed_is_said() -> None:
    done = ended("print('a' * 1_000_000); print('b', file=sys.stderr)")
    assert (len(done.stdout), done.stderr) == (1_000_001, "b\n")


def test_what_was_kept_for_the_end_is_done() -> None:
    assert ended("atexit.register(print, 'the end')").stdout == "the end\n"


def test_a_thread_that_is_at_work_is_waited_for() -> None:
    work = "threading.Thread(target=lambda: (time.sleep(0.3), print('done'))).start()"
    assert ended(work).stdout == "done\n"


def test_a_bug_is_told_as_one() -> None:
    done = ended("raise ZeroDivisionError")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_nothing_is_taken_apart() -> None:
    kept = (
        "sys.kept = type('Kept', (), {'__del__': lambda _, say=os.write: say(1, b'apart')})()"
    )
    assert ended(kept).stdout == ""
    assert ended(kept, how="main()").stdout == "apart"
