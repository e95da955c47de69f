"""The places where anchors are stored: a file, a folder, or a command of the owner.

The project file configures one place, and it is read whenever the ledger is opened. It should
be where the people who can write to the database cannot write: a mount of another machine, a
write-once share, or whatever a command reaches.

Each anchor of such a place is signed with a key of the ledger, so that an anchor that somebody
else wrote or changed is refused. A place from which the newest anchors were removed looks like
one that is older, so it must be kept as safe as the last line of a paper book.
"""

import fcntl
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, Protocol

from tacit.errors import InvalidValue, LedgerBroken, StoreFailed
from tacit.ledger.anchored_keys import Clock, known_keys, lost_keys
from tacit.ledger.chain import Anchor, check_anchor, take_anchor, time_of_anchor
from tacit.store import SigningKey, Store

PUT, GET = "put", "get"
"""The last argument of an owner's command: store the line on standard input, or print it."""

COMMAND_SECONDS = 30
"""Seconds after which an owner's command that has not ended counts as failed."""

LARGEST_FILE = 4 * 2**20
"""Bytes of a file of anchors, after which only its newest lines are kept."""

KEPT_LINES = 1000
TAIL = 65_536
"""Bytes at the end of a file that are read for its last line."""

PUBLIC = 0o644
"""The mode of a new anchor: it has no secrets, and an auditor reads it."""

SET_AGAIN = (
    "First set the keys of the owners again, as for the first time: put # before the lines of "
    "[anchors], run `tacit key set POPULATION FILE`, let another owner approve it, and restore "
    "these lines"
)
"""The advice to owners whose ledger was put back to the time before they had keys."""

NAME = re.compile(r"\d{6}-\d{20}\.anchor")
"""The name of an anchor in a folder: its generation, and the number of entries so far."""


class AnchorPlace(Protocol):
    """A place where anchors are stored."""

    def newest(self) -> str | None:
        """Return the line of the newest anchor, or None if there is none."""
        ...

    def put(self, anchor: Anchor) -> None:
        """Store ``anchor`` as the newest one, durably."""
        ...

    def lock(self) -> AbstractContextManager[object]:
        """Lock the place against other writers, where it can be locked."""
        ...


class FilePlace:
    """A file of anchors, one a line, the newest last."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return f"the file {self._path}"

    def newest(self) -> str | None:
        """Return the last complete line, or None if there is none."""
        try:
            with self._path.open("rb") as file:
                return _last_line(_end_of(file)[1])
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(self, error) from error

    def put(self, anchor: Anchor) -> None:
        """Append a line; a line that a crash cut short is overwritten."""
        try:
            with self._path.open("a+b") as file:
                size, tail = _end_of(file)
                file.truncate(size - (len(tail) - tail.rfind(b"\n") - 1))
                file.write(anchor.text.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            if size > LARGEST_FILE:
                lines = self._path.read_text(encoding="utf-8").splitlines()
                _replace(self._path, "\n".join([*lines[-KEPT_LINES:], ""]))
        except OSError as error:
            raise _unwritable(self, error) from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder of the file against other writers of anchors."""
        with _hold_lock(self._path.parent, self):
            yield


class FolderPlace:
    """A folder with a file for each anchor. Its names are in the order of the anchors."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return f"the folder {self._path}"

    def newest(self) -> str | None:
        """Return the text of the file with the last name, or None if there is none."""
        try:
            names = [each.name for each in self._path.iterdir() if NAME.fullmatch(each.name)]
            if not names:
                return None
            return (self._path / max(names)).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(self, error) from error

    def put(self, anchor: Anchor) -> None:
        """Write a new file, and rename it when all of it is on the disk."""
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            name = f"{anchor.generation:06d}-{anchor.entries:020d}.anchor"
            _replace(self._path / name, f"{anchor.text}\n")
        except OSError as error:
            raise _unwritable(self, error) from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder against other writers of anchors."""
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(self, error) from error
        with _hold_lock(self._path, self):
            yield


class CommandPlace:
    """A command of the owner, which is run with ``put`` or ``get`` as its last argument.

    ``put`` gets the anchor as a line on standard input, and must end with exit code 0 once it
    is stored. ``get`` prints the newest line, or nothing if there is none.
    """

    def __init__(self, command: tuple[str, ...], folder: Path) -> None:
        self._command = command
        self._folder = folder

    def __str__(self) -> str:
        return f"the command {' '.join(self._command)!r}"

    def newest(self) -> str | None:
        """Return the line that the command prints, or None if it prints nothing."""
        return self._run(GET, "").strip() or None

    def put(self, anchor: Anchor) -> None:
        """Hand the anchor to the command."""
        self._run(PUT, f"{anchor.text}\n")

    def lock(self) -> AbstractContextManager[object]:
        """Return a lock that locks nothing: the command itself orders its writers."""
        return nullcontext()

    def _run(self, what: str, line: str) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - the owner's own command
                [*self._command, what],
                cwd=self._folder,
                input=line,
                stdout=subprocess.PIPE,
                text=True,
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
            raise StoreFailed(
                f"The command of [anchors] could not be run with {what!r}, or did not end in "
                f"{COMMAND_SECONDS} seconds. Check it; it is {self._command[0]!r}."
            ) from error
        if done.returncode:
            raise StoreFailed(
                f"The command of [anchors] failed with {what!r} and exit code "
                f"{done.returncode}. Its own output says why."
            )
        return done.stdout


def _end_of(file: BinaryIO) -> tuple[int, bytes]:
    """Return the size of a file, and its end, in which the last complete line is complete."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL))
    found = file.read()
    if size > TAIL and found.count(b"\n") < 2:  # noqa: PLR2004 - the ends of two lines
        file.seek(0)
        found = file.read()
    return size, found


def _last_line(written: bytes) -> str | None:
    """Return the last line that ends with a line break and is not empty."""
    lines = written[: written.rfind(b"\n") + 1].split(b"\n")[:-1]
    return lines[-1].decode(errors="replace") if lines else None


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically by a new one with ``text``."""
    with NamedTemporaryFile("w", dir=path.parent, prefix=".", delete=False) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    made = Path(file.name)
    made.chmod(path.stat().st_mode & 0o777 if path.exists() else PUBLIC)
    made.replace(path)


@contextmanager
def _hold_lock(folder: Path, place: object) -> Iterator[None]:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise _unwritable(place, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _unreadable(place: object, error: OSError) -> StoreFailed:
    return StoreFailed(f"The anchors in {place} cannot be read: {error.strerror}. Check it.")


def _unwritable(place: object, error: OSError) -> StoreFailed:
    return StoreFailed(f"No anchor can be written to {place}: {error.strerror}. Check it.")


# ------------------------------------------------------------------ check and renew


def check_place(
    store: Store, place: AnchorPlace, key: SigningKey | None, *, expected: bool = False
) -> Anchor | None:
    """Check ``store`` against the newest anchor of ``place``; return it, or None.

    Raise `LedgerBroken` if the store is older or another ledger, if the anchor was changed or
    signed with another key than ``key``, or if there is none although something was charged or
    one is ``expected``.
    """
    return _check_line(store, place, place.newest(), key, expected=expected)


def newest_anchor(place: AnchorPlace, key: SigningKey | None) -> Anchor | None:
    """Return the newest anchor of ``place``, or None; refuse one that was changed."""
    line = place.newest()
    return None if line is None else _check_signature(_parse(line, place), place, key)


def _check_line(
    store: Store,
    place: AnchorPlace,
    line: str | None,
    key: SigningKey | None,
    *,
    expected: bool,
) -> Anchor | None:
    if line is not None:
        anchor = _parse(line, place)
        check_anchor(store, anchor)  # before its key: it says what happened to the ledger
        return _check_signature(anchor, place, key)
    if expected or take_anchor(store).has_charges:
        raise LedgerBroken(
            f"There is no anchor in {place}, although this ledger has charges. Restore the "
            "anchors, or correct [anchors] in the project file. If there were never any, an "
            "owner begins them: `tacit ledger anchor --start`."
        )
    return None


def _parse(line: str, place: AnchorPlace) -> Anchor:
    try:
        return Anchor.of(line)
    except InvalidValue as error:
        raise LedgerBroken(
            f"The newest anchor in {place} was changed. {error} Restore it from a copy."
        ) from error


def _check_signature(anchor: Anchor, place: AnchorPlace, key: SigningKey | None) -> Anchor:
    if key is not None and anchor.key != key.public:
        raise LedgerBroken(
            f"The newest anchor in {place} was not signed with the key of this ledger. If the "
            "key was replaced, an owner begins new anchors: `tacit ledger anchor --start`."
        )
    return anchor


def renew_anchor(  # noqa: PLR0913 - a store, a place, and what is known of its anchors
    store: Store,
    place: AnchorPlace,
    key: SigningKey,
    clock: Clock,
    *,
    known: Anchor | None = None,
    expected: bool = False,
) -> Anchor | None:
    """Write an anchor of ``store`` to ``place`` unless the newest one has the same heads.

    Return the newest anchor; None if the store has no population yet. ``known`` is an anchor
    whose signature need not be verified again. If one is ``expected`` and there is none, raise
    `LedgerBroken`.

    Guarantee: no anchor is written of a store that is older than the newest one.
    """
    with place.lock():
        line = place.newest()
        if line is not None and known is not None and line.strip() == known.text:
            check_anchor(store, known)
            last: Anchor | None = known
        elif line is None and not expected:
            last = None  # nothing was charged when the ledger was opened
        else:
            last = _check_line(store, place, line, key, expected=expected)
        anchor = take_anchor(store)
        if not anchor.heads or (last is not None and last.ends == anchor.ends):
            return last
        generation = 0 if last is None else last.generation
        if last is not None and anchor.entries <= last.entries:
            generation += 1  # an owner has restored an older copy, and charged the difference
        signed = anchor.sign(key, time_of_anchor(store, clock), generation)
        place.put(signed)
        return signed


def start_anchors(store: Store, place: AnchorPlace, key: SigningKey, clock: Clock) -> Anchor:
    """Begin a new series of anchors in ``place``; the ledger is not compared with the last one.

    Raise `InvalidValue` if the newest anchor cannot be read, because its place in the series is
    then not known, or if it has a key of an owner that the ledger does not know.
    """
    with place.lock():
        try:
            last = newest_anchor(place, None)
        except LedgerBroken as error:
            raise InvalidValue(
                f"New anchors cannot begin in {place}, because its newest one cannot be read. "
                "Restore that one from a copy; or move it aside and keep it, so that the one "
                "before it is the newest, and begin again."
            ) from error
        if last is not None:
            _check_keys(store, last)
        generation = 0 if last is None else last.generation + 1
        taken = take_anchor(store)
        anchor = taken.sign(key, time_of_anchor(store, clock), generation)
        place.put(anchor)
    return anchor


def _check_keys(store: Store, last: Anchor) -> None:
    """Refuse to forget an anchor with a key that an owner of ``store`` does not have."""
    with store.reading() as work:
        for head in last.heads:
            known = known_keys(work, head.population) if head.keys else ()
            lost = lost_keys(head.population, head.signed, head.keys, known)
            if lost is not None:
                raise InvalidValue(
                    f"New anchors cannot begin: {lost}. {SET_AGAIN}, and then begin again."
                )
