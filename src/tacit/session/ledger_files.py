"""Backups of a project's ledger: written into a folder, and restored into another place.

A ledger is restored into a new folder, or into the empty store of a project. The new folder is
made under another name, and gets its own name when everything in it was verified.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NamedTuple

from tacit.errors import InvalidValue
from tacit.ledger import (
    Backup,
    Book,
    HeadMark,
    check_is_empty,
    read_backup,
    restore_backup,
    wall_clock,
    write_backup,
)
from tacit.project import FILE, STORE
from tacit.session.curator import FOLDER, MARK, private_folder
from tacit.session.engines import address_with_secret, read_project_unloaded
from tacit.session.project import project_and_ledger
from tacit.store import VARIABLE, SealingKey, open_sqlite, open_store

KEY = "key"
LEDGER = "ledger.db"


class RestoredLedger(NamedTuple):
    """The verified books of a restored ledger, and how many sealed states were left out."""

    books: tuple[Book, ...]
    states_left_out: int


def export_ledger(
    folder: Path, path: str | Path = FILE, environment: Mapping[str, str] = os.environ
) -> Backup:
    """Write a backup of a project's ledger into a new folder, and return it, verified.

    Others may go on charging meanwhile: the backup is the ledger of one moment.
    """
    with project_and_ledger(path, environment) as (_, home):
        return write_backup(home.store, folder, wall_clock())


def restore_ledger(
    source: Path,
    path: str | Path = FILE,
    environment: Mapping[str, str] = os.environ,
    *,
    into: Path | None = None,
    key: Path | None = None,
) -> RestoredLedger:
    """Restore the backup ``source``, and return what was restored.

    It is restored into the new folder ``into``, or else into the ledger of the project file at
    ``path``: its folder, or the store that the file names. ``key`` is the file of the sealing
    key, which is copied to the new place. A project with a store may have its key already, in
    the environment or in its folder. Without a key, sealed states are left out.

    Guarantee: the whole ledger is restored and verified, or nothing is left behind.
    """
    file = Path(path)
    project = None if into is not None else read_project_unloaded(file)
    backup = read_backup(source)
    if project is None or project.store is None:
        return _restore_folder(backup, into or file.parent / FOLDER, key)
    own = file.parent / FOLDER / KEY
    sealing = _key_of_project(key, own, environment)
    store = open_store(address_with_secret(project.store, STORE, environment, file.parent))
    try:
        books = restore_backup(store, backup, sealing)
    finally:
        store.close()
    if key is not None:
        private_folder(own.parent)
        _copy_key(key, own)
    return _count_restored(backup, books, sealing)


def _key_of_project(
    key: Path | None, own: Path, environment: Mapping[str, str]
) -> SealingKey | None:
    """Return the key of a project with a store; refuse a second key of the same project."""
    has_own = bool(environment.get(VARIABLE)) or own.exists()
    if key is not None and has_own:
        raise InvalidValue(
            f"This project has a sealing key already, in {VARIABLE} or in {own}. To restore "
            "with that key, leave out --key. To use another key, remove that one first."
        )
    if key is not None:
        _check_key(key)
        return SealingKey.from_file(key)
    if environment.get(VARIABLE):
        return SealingKey.from_environment(environment)
    return SealingKey.from_file(own) if has_own else None


def _count_restored(
    backup: Backup, books: list[Book], key: SealingKey | None
) -> RestoredLedger:
    return RestoredLedger(tuple(books), 0 if key is not None else len(backup.states or ()))


def _restore_folder(backup: Backup, folder: Path, key: Path | None) -> RestoredLedger:
    check_is_empty(folder)
    if key is not None:
        _check_key(key)
    backup.verify()  # before anything is made
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InvalidValue(f"{folder} cannot be made ({why}). Name another folder.") from error
    try:
        private_folder(made)
        if key is not None:
            _copy_key(key, made / KEY)
        store = open_sqlite(made / LEDGER)
        try:
            sealing = None if key is None else SealingKey.from_file(made / KEY)
            books = restore_backup(store, backup, sealing)
            HeadMark(made / MARK).move(store)
        finally:
            store.close()
        _give_name(made, folder)
    except BaseException:
        rmtree(made, ignore_errors=True)
        raise
    return _count_restored(backup, books, sealing)


def _give_name(made: Path, folder: Path) -> None:
    """Rename the finished folder; an empty folder of this name is replaced."""
    try:
        made.rename(folder)
    except OSError as error:
        raise InvalidValue(
            f"{folder} was made by another process meanwhile. Name a new folder."
        ) from error


def _check_key(key: Path) -> None:
    """Raise `InvalidValue` if there is no file ``key``; reading it would make a new key."""
    if not key.is_file():
        raise InvalidValue(
            f"There is no key in {key}. The sealing key of a ledger in a folder is its file "
            "`key`, as in .tacit/key."
        )


def _copy_key(key: Path, to: Path) -> None:
    opened = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(opened, "wb") as file:  # noqa: PTH123 - of a descriptor
        file.write(key.read_bytes())
        file.flush()
        os.fsync(file.fileno())
