"""The `tacit` command as a process of its own, which ends as soon as its work is done."""

import atexit
import os
import sys
import threading

from tacit.cli.main import main


def start() -> None:
    """Run the command that was typed, and end with its exit code.

    Python would then take apart all that was loaded, module by module: a quarter of a second
    that a person waits for. Sessions are closed by now and charges are on the disk, so that it
    is left to say what was printed and to do what was kept for the end.
    """
    code: str | int = 0
    try:
        main(prog_name="tacit")
    except SystemExit as ended:
        code = ended.code or 0
    if threading.active_count() > 1 or not isinstance(code, int):
        sys.exit(code)  # somebody is still at work, or it is a text to be told
    sys.stdout.flush()
    sys.stderr.flush()
    atexit._run_exitfuncs()  # noqa: SLF001 - it has no other name
    os._exit(code)


# ------------------------------------------------------------------   main
# `python -m tacit.cli`, where the command is not on the path.

start()
