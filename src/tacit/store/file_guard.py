"""A guard that notices when the file of a store is deleted, replaced or cut short while in use.

An open connection keeps its file, even if the file was deleted or another one has its name. A
process would then go on writing to a file that nobody else sees, and what it wrote would be
gone when it ends. So the name is looked up before each unit of work that writes: two calls of
``stat``, which take a few microseconds.

A process never connects to a new file by itself: the write-ahead log of the old one has a name
that SQLite would apply to the new one. The error says what the new file contains, compared with
the chains that the process has seen (`tacit.store.continuity`).
"""

import sqlite3
from contextlib import closing
from os import stat_result
from pathlib import Path
from struct import unpack

from tacit.errors import LedgerBroken
from tacit.store.continuity import PROCESS, WHAT_TO_DO, Seen, missing_entry
from tacit.store.unit_of_work import Prints, SeenChains, Work

LOG_SUFFIX = "-wal"
MAGIC = b"SQLite format 3\x00"
HEADER_BYTES = 32

Identity = tuple[int, int]
"""The device and the inode of a file."""


class FileGuard:
    """The identity of a database's file and of its write-ahead log, as they were opened.

    Guarantee: after the file was deleted, replaced or cut short, `check` raises an error.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = Path(f"{path}{LOG_SUFFIX}")
        self._file: Identity | None = None
        self._logged: Identity | None = None
        self._bytes = 0

    def begin(self) -> None:
        """Record the file that was just opened."""
        state = self._path.stat()
        self._file, self._bytes = (state.st_dev, state.st_ino), state.st_size
        self.forget_log()

    def forget_log(self) -> None:
        """Expect a new log: the last connection that closes deletes the present one."""
        self._logged = None

    def check(self, known: SeenChains, prints: Prints) -> None:
        """Raise `LedgerBroken` if the file is not the one that was opened, or was cut short.

        The message depends on what the process has seen (``known``) and the file contains.
        """
        state = self.check_name(known, prints)
        if state.st_size < self._bytes:
            raise self._shorter(state.st_size)
        self._bytes = state.st_size
        self._check_log()

    def check_name(self, known: SeenChains, prints: Prints) -> stat_result:
        """Return the state of the file; raise `LedgerBroken` if it is gone or another one.

        This changes nothing here, so that a thread that only reads may call it.
        """
        try:
            state = self._path.stat()
        except OSError as error:
            raise LedgerBroken(
                f"The ledger was deleted: its file {self._path.name} no longer exists. "
                f"{WHAT_TO_DO}"
            ) from error
        if self._file is not None and (state.st_dev, state.st_ino) != self._file:
            raise self._describe_other(known, prints)
        return state

    def _check_log(self) -> None:
        """Raise `LedgerBroken` if the log that the connections use has no name any more."""
        try:
            state = self._log.stat()
        except OSError:
            found = None
        else:
            found = (state.st_dev, state.st_ino)
        if self._logged is None:
            self._logged = found
        elif found != self._logged:
            raise LedgerBroken(
                "The ledger was put back to an older copy: its write-ahead log "
                f"{self._log.name} was removed or replaced, and it contained the newest "
                f"entries. {WHAT_TO_DO}"
            )

    def _shorter(self, size: int) -> LedgerBroken:
        """Return the error for a file that is shorter than it was."""
        if size and size == self._whole_size():
            return LedgerBroken(
                f"The ledger was put back to an older copy: its file {self._path.name} is a "
                f"shorter one. {WHAT_TO_DO}"
            )
        return LedgerBroken(
            f"The ledger was truncated: its file {self._path.name} was cut short. {WHAT_TO_DO}"
        )

    def _whole_size(self) -> int:
        """Return the size that the header of the file states, or 0 if there is none."""
        try:
            with self._path.open("rb") as file:
                header = file.read(HEADER_BYTES)
        except OSError:
            return 0
        if len(header) < HEADER_BYTES or not header.startswith(MAGIC):
            return 0
        (page,), (pages,) = unpack(">H", header[16:18]), unpack(">I", header[28:32])
        return int(pages) * (65_536 if page == 1 else int(page))

    def _describe_other(self, known: SeenChains, prints: Prints) -> LedgerBroken:
        """Return the error for another file of the same name."""
        try:
            found = self._compare(known, prints)
        except sqlite3.Error:
            return LedgerBroken(
                f"The ledger was replaced: the file {self._path.name} is another one, which is "
                f"no ledger. {WHAT_TO_DO}"
            )
        return found or LedgerBroken(
            f"The ledger was replaced: the file {self._path.name} is another one. It has every "
            "entry that this process has seen. Nothing was charged. Stop every Tacit process "
            "that uses this ledger, and start again."
        )

    def _compare(self, known: SeenChains, prints: Prints) -> LedgerBroken | None:
        """Return the error for an entry that the new file lacks, or None."""
        # immutable: the log that has its name belongs to the file before it
        address = f"{self._path.as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            work = Work(connection.cursor(), prints)
            for population, end in sorted(known.ends.items()):
                seen = Seen(population, *end, known.firsts.get(population))
                error = missing_entry(work, seen, PROCESS)
                if error is not None:
                    return error
        return None
