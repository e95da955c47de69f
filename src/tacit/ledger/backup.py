"""A backup of a whole ledger: a folder from which it can be verified and restored elsewhere.

The folder has three files:

* ``ledger.jsonl``: every chain and every stored answer (`tacit.ledger.verify.export`).
* ``states.jsonl``: the sealed states, such as salts and the noise of streams, as they are
  stored. They are encrypted: only the sealing key, which is not in the folder, opens them.
* ``contents.json``: the hashes of both files, and the ends of the chains. It is written last,
  so that a folder without it is known to be incomplete.

A restore happens in one unit of work. Before that ends, everything that was written is read
back and verified, so that a restored ledger counts as a whole or not at all. Access tokens are
not in a backup: owners issue new ones.
"""

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger.book import Book
from tacit.ledger.chain import Anchor, Head
from tacit.ledger.sealed_states import ChainWitness, state_hash
from tacit.ledger.verify import (
    Exported,
    export_lines,
    read_export,
    restore_within,
    verify_export,
)
from tacit.store import SealingKey, States, Store, Work, sync_folder
from tacit.store.tables import answers, budgets, entries, requests, states, tokens

FORMAT = 1
LEDGER, STATES, CONTENTS = "ledger.jsonl", "states.jsonl", "contents.json"

_STATES = select(states.c.name, states.c.version, states.c.sealed).order_by(states.c.name)
_ADD_STATE = insert(states)
_ANY = tuple(
    select(column).limit(1)
    for column in (
        budgets.c.population,
        entries.c.seq,
        requests.c.nonce,
        answers.c.release,
        states.c.name,
        tokens.c.hash,
    )
)


@dataclass(frozen=True, slots=True)
class SealedCopy:
    """A sealed state as it is stored: its name, its version and its encrypted value."""

    name: str
    version: int
    sealed: bytes

    @property
    def line(self) -> str:
        """The state as one line of JSON."""
        value = {
            "name": self.name,
            "sealed": b64encode(self.sealed).decode(),
            "version": self.version,
        }
        return json.dumps(value, separators=(",", ":"), sort_keys=True) + "\n"


@dataclass(frozen=True, slots=True)
class Backup:
    """The content of a backup, which was read and is not verified yet.

    ``states`` is None if the backup is a file of lines, as version 0.1.0 wrote them, which has
    no sealed states. ``heads`` are the ends of the chains when it was written.
    """

    exported: Exported
    states: tuple[SealedCopy, ...] | None = None
    heads: Anchor | None = None

    def verify(self, anchor: Anchor | None = None) -> list[Book]:
        """Verify every chain, and return its book; compare with an ``anchor`` if given."""
        books = verify_export(self.exported, anchor)
        ends = {Head(book.population, book.seq, book.head) for book in books}
        if self.heads is not None and ends != set(self.heads.heads):
            raise LedgerBroken(
                f"The chains of this backup end elsewhere than {CONTENTS} says, so one of them "
                "was changed. Use another backup."
            )
        return books


# ------------------------------------------------------------------ write


def write_backup(store: Store, folder: Path, now: int) -> Backup:
    """Write a backup of ``store`` into a new or empty folder, read it back, and verify it.

    Everything is read in one snapshot, so that others may go on charging meanwhile. The files
    can be read by their owner only.
    """
    check_is_empty(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with store.reading() as work:
            written = {
                LEDGER: _write(folder / LEDGER, export_lines(work)),
                STATES: _write(folder / STATES, _state_lines(work)),
            }
        exported, _ = _read_checked(folder, written)
        contents = {
            "tacit backup": FORMAT,
            "tacit": version("tacit"),
            "at": now,
            "files": written,
            "heads": [
                [name, chain[-1].seq, chain[-1].hash.hex()]
                for name, chain in sorted(exported.chains.items())
            ],
        }
        _write(folder / CONTENTS, [json.dumps(contents, indent=2, sort_keys=True) + "\n"])
        sync_folder(folder)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InvalidValue(
            f"The backup cannot be written to {folder} ({why}). Name another folder."
        ) from error
    backup = read_backup(folder)
    backup.verify()
    return backup


def check_is_empty(folder: Path) -> None:
    """Raise `InvalidValue` if ``folder`` is not a folder, or something is in it."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InvalidValue(f"{folder} is not a folder. Name a new folder.")
    if folder.exists() and any(folder.iterdir()):
        raise InvalidValue(
            f"{folder} is not empty, and nothing was written. Name a new folder, or "
            "move this one aside and keep it."
        )


def _write(path: Path, lines: Iterable[str]) -> str:
    """Write a new file for its owner only, and return the hash of its content."""
    digest = sha256()
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(opened, "wb") as file:  # noqa: PTH123 - of a descriptor
        for line in lines:
            digest.update(line.encode())
            file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _state_lines(work: Work) -> Iterator[str]:
    for row in sorted(work.all(_STATES, {})):
        yield SealedCopy(*row).line


# ------------------------------------------------------------------ read


def read_backup(path: Path) -> Backup:
    """Read the backup in the folder ``path``, or the exported ledger in the file ``path``.

    Raise `LedgerBroken` if a file was changed after the backup was written.
    """
    try:
        return _read(path)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InvalidValue(
            f"The backup at {path} cannot be read ({why}). Name a backup that you may read."
        ) from error


def _read(path: Path) -> Backup:
    if not path.exists():
        raise InvalidValue(f"There is no backup at {path}.")
    if not path.is_dir():
        with path.open(encoding="utf-8", errors="strict") as lines:
            return Backup(_read_lines(lines))
    if not (path / CONTENTS).is_file():
        raise InvalidValue(
            f"{path} has no {CONTENTS}: it is not a backup, or it was not completely written. "
            "Write it again with `tacit ledger export`."
        )
    try:
        contents: Any = json.loads((path / CONTENTS).read_text(encoding="utf-8"))
        found = contents["tacit backup"]
        files = {name: str(contents["files"][name]) for name in (LEDGER, STATES)}
        heads = Anchor(
            tuple(
                Head(str(name), int(seq), bytes.fromhex(h))
                for name, seq, h in contents["heads"]
            )
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise LedgerBroken(
            f"{path / CONTENTS} cannot be read, so that it was changed. Use another backup."
        ) from error
    if found != FORMAT:
        raise InvalidValue(
            f"This backup has the format {found}, but this version of Tacit reads format "
            f"{FORMAT}. Install the version that wrote it."
        )
    return Backup(*_read_checked(path, files), heads)


def _read_checked(
    folder: Path, files: dict[str, str]
) -> tuple[Exported, tuple[SealedCopy, ...]]:
    """Read both files, and compare them with the hashes that were written down."""
    for name, wanted in files.items():
        if not (folder / name).is_file():
            raise LedgerBroken(f"The backup has no {name}. Use another backup.")
        with (folder / name).open("rb") as file:
            digest = sha256()
            while part := file.read(2**20):
                digest.update(part)
        if digest.hexdigest() != wanted:
            raise LedgerBroken(
                f"{folder / name} was changed after the backup was written. Use another backup."
            )
    with (folder / LEDGER).open(encoding="utf-8") as lines:
        exported = _read_lines(lines)
    with (folder / STATES).open(encoding="utf-8") as lines:
        return exported, tuple(_read_states(lines))


def _read_lines(lines: Iterable[str]) -> Exported:
    try:
        return read_export(lines)
    except UnicodeDecodeError as error:
        raise LedgerBroken(
            "This is not an exported ledger, or it was changed. Use another backup."
        ) from error


def _read_states(lines: Iterable[str]) -> Iterator[SealedCopy]:
    for number, line in enumerate(lines, start=1):
        try:
            told: Any = json.loads(line)
            copy = SealedCopy(
                str(told["name"]), int(told["version"]), b64decode(told["sealed"])
            )
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise LedgerBroken(
                f"Line {number} of {STATES} is not a sealed state, so that the backup was "
                "changed. Use another backup."
            ) from error
        yield copy


# ------------------------------------------------------------------ restore


def restore_backup(
    store: Store, backup: Backup, key: SealingKey | None = None, anchor: Anchor | None = None
) -> list[Book]:
    """Write a backup into the empty ``store``, and return the verified book of each chain.

    With the sealing ``key``, the sealed states are restored too: each must open with it, and
    must be the version that the chain records. Without it they are left out, and streams,
    publications and holdouts cannot continue.

    Guarantee: the ledger in ``store`` is complete and verified, or the store is still empty.
    """
    books = backup.verify(anchor)
    with store.writing() as work:
        check_store_empty(work)
        restore_within(work, backup.exported, books)
        if key is not None:
            _restore_states(
                work, backup.states or (), States(store, key, ChainWitness()), books
            )
    return books


def check_store_empty(work: Work) -> None:
    """Raise `InvalidValue` if the store has a ledger, states or tokens."""
    if any(work.one(query, {}) is not None for query in _ANY):
        raise InvalidValue(
            "This store is not empty, and nothing was changed. A ledger can only be restored "
            "into a new store."
        )


def _restore_states(
    work: Work, copies: tuple[SealedCopy, ...], reading: States, books: list[Book]
) -> None:
    """Write the sealed states, and read each of them back with its key and its witness."""
    homes: dict[str, list[str]] = {}
    for book in books:
        for state in book.states:
            homes.setdefault(state, []).append(book.population)
    if homes.keys() - {state_hash(copy.name) for copy in copies}:
        raise LedgerBroken(
            "The chains record a sealed state that is not in this backup, so that the backup "
            "was changed or has no states. Use another backup, or restore it without the key: "
            "then streams, publications and holdouts cannot continue."
        )
    for copy in copies:
        row = {"name": copy.name, "version": copy.version, "sealed": copy.sealed}
        work.run(_ADD_STATE, row)
    for copy in copies:
        populations = homes.get(state_hash(copy.name), ())
        for population in populations:
            reading.of(population).find_within(work, copy.name)
        if not populations:
            reading.find_within(work, copy.name)
