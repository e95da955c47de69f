"""Tell the operator and the owners that a paid question failed: which charge, and the stage.

Why it failed is never told: the reason may be a value of a row.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

from tacit.ledger.ledger import wall_clock
from tacit.query.below import FAILED, LATE, Tell, Trouble

Log = Callable[[dict[str, Any]], None]
"""Writes one line of the operator's log."""


def alarm(log: Log, command: Sequence[str] = ()) -> Tell:
    """What tells the operator of all troubles, and the owners of those that lock.

    ``command`` is the hook of the project file. It is run without a shell, once for each
    population, with three more arguments: the population, the receipt of the charge, and the
    stage. Nobody waits for it.
    """

    def tell(trouble: Trouble) -> None:
        log(line_of(trouble))
        if command and trouble.what in {FAILED, LATE}:
            for population in trouble.populations:
                given = [*command, population, trouble.receipt.hex(), trouble.stage]
                Thread(target=_run, args=(given, log), daemon=True).start()

    return tell


def line_of(trouble: Trouble) -> dict[str, Any]:
    """A line of the log: which charge, and at which stage.

    Example:
        >>> line = line_of(Trouble("failed", ("patients",), bytes(2), "engine"))
        >>> line["below"], line["charge"], line["stage"], line["populations"]
        ('failed', '0000', 'engine', ['patients'])
    """
    return {
        "at": wall_clock(),
        "below": trouble.what,
        "charge": trouble.receipt.hex(),
        "stage": trouble.stage,
        "populations": list(trouble.populations),
    }


def _run(command: Sequence[str], log: Log) -> None:
    """Run the owner's command; one that cannot be started is told of in the log."""
    nowhere = subprocess.DEVNULL
    try:
        subprocess.run(  # noqa: S603 - the owner's own command, without a shell
            command,
            check=False,
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            start_new_session=True,
        )
    except OSError:
        log({"at": wall_clock(), "below": "on_failure could not be started"})


def to_stderr(line: dict[str, Any]) -> None:
    """Write a line of the log for the person at this machine."""
    told = {name: part for name, part in line.items() if name != "at"}
    sys.stderr.write(f"tacit: {json.dumps(told)}\n")
