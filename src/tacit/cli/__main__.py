"""The entry point of the `tacit` command and of `python -m tacit.cli`."""

import atexit
import os
import sys
import threading

from tacit.cli.main import main


def start() -> None:
    """Run the command line, and exit with its exit code.

    A normal exit of the interpreter would tear down all modules, which takes a quarter of a
    second for which a person waits. By now sessions are closed and charges are on the disk, so
    this function only flushes the output, runs the exit handlers and ends the process.
    """
    code: str | int = 0
    try:
        main(prog_name="tacit")
    except SystemExit as ended:
        code = ended.code or 0
    if threading.active_count() > 1 or not isinstance(code, int):
        sys.exit(code)  # another thread still works, or the exit code is a text to print
    sys.stdout.flush()
    sys.stderr.flush()
    atexit._run_exitfuncs()  # noqa: SLF001 - it has no other name
    os._exit(code)


if __name__ == "__main__":
    start()
