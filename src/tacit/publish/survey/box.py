"""The ballot box of a wave: reports in a file, a line each, and nothing else."""

import fcntl
import json
import os
import re
from pathlib import Path
from threading import Lock

from tacit.errors import InvalidValue, StoreFailed

ID = re.compile("[0-9a-f]{32}")
"""What browsers draw; a text of another shape might tell something."""

Reports = dict[str, list[int]]
"""What one person sent: a report for each question, by its name."""


class Box:
    """Takes the reports of one wave: each is kept once, and durable when `put` returns.

    A line holds an id, by which a report that is sent twice is counted once, and the reports:
    no time, no address, no answer. Writers at once share the wait for the disk.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            whole = _whole_lines(path)
            os.ftruncate(self._file, len(whole))  # what a crash cut off was never taken
        except OSError as error:
            raise StoreFailed(f"{path} cannot be written, or another server has it.") from error
        self._ids = {id_ for id_, _ in map(json.loads, whole.splitlines())}
        self._length = len(whole)
        self._writing, self._syncing = Lock(), Lock()
        self._synced = self._length

    def put(self, id_: str, reports: Reports) -> None:
        """Keep what one person sent; sent again, it is there already."""
        if not ID.fullmatch(id_):
            raise InvalidValue("An id has 32 hexadecimal digits.")
        line = json.dumps([id_, reports], sort_keys=True, separators=(",", ":")) + "\n"
        with self._writing:
            if id_ not in self._ids:
                self._append(line.encode())
                self._ids.add(id_)
            mine = self._length
        with self._syncing:
            if self._synced < mine:
                reached = self._length
                os.fsync(self._file)
                self._synced = reached

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _append(self, line: bytes) -> None:
        """The whole line, or nothing of it."""
        if os.write(self._file, line) != len(line):
            os.ftruncate(self._file, self._length)
            raise StoreFailed("The disk is full.")
        self._length += len(line)


def reports_in(path: Path) -> list[Reports]:
    """All reports that were taken so far, also while a server takes more."""
    if not path.exists():
        return []
    return [reports for _, reports in map(json.loads, _whole_lines(path).splitlines())]


def _whole_lines(path: Path) -> bytes:
    text = path.read_bytes()
    return text[: text.rfind(b"\n") + 1]
