"""Release the periods of a publication that are due, and write them as files.

`run` releases each period once, whichever process runs it and however often. `Folder` writes a
Parquet file for each period, a chart, and the text of the guarantee.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Protocol

from tacit.errors import InvalidValue, LedgerBroken
from tacit.extras import load
from tacit.publish.publication import Publication, Publications
from tacit.session import Session
from tacit.stream import OpenStream, Periods, StreamRelease, history

MOST_DRAWN = 2000
"""Maximum number of rows in a chart. Of a longer history, only the last steps are drawn."""


class Folder:
    """The folder of a publication; its folder ``table`` has one Parquet file for each period.

    Guarantee: a file is written completely or not at all, and it is never changed afterwards.
    """

    def __init__(self, path: Path, periods: Periods) -> None:
        (path / "table").mkdir(parents=True, exist_ok=True)
        self._path = path
        self._periods = periods

    def stored_periods(self) -> frozenset[date]:
        """Return the first day of each period that has a file in this folder.

        A file whose name is not a day is not ours, and is refused.
        """
        found = set()
        for file in (self._path / "table").glob("*.parquet"):
            try:
                found.add(date.fromisoformat(file.stem))
            except ValueError:
                raise InvalidValue(
                    f"{file} is not a period of this publication. Move it away, because all "
                    "files in its folder are read as one table."
                ) from None
        return frozenset(found)

    def agrees(self, number: int, table: StreamRelease) -> bool:
        """Return whether the file of a period has the values of ``table``.

        Intervals are not compared: they are computed from the values, and later versions may
        compute narrower ones.
        """
        parquet = load("pyarrow.parquet", extra="arrow")
        names = [column.name for column in history([table], self._periods, number).columns]
        try:
            found = parquet.read_table(self._file(number), columns=names)
        except (OSError, ValueError):  # Arrow's own errors are of these kinds
            return False
        wanted = self._rows(number, table).select(names)
        # compared as text, in which NaN is equal to itself
        return str(found.to_pydict()) == str(wanted.to_pydict())

    def write(self, number: int, table: StreamRelease) -> None:
        """Write the file of one period, and the text of the guarantee of all periods."""
        parquet = load("pyarrow.parquet", extra="arrow")
        rows = self._rows(number, table)
        if not self._put(
            self._file(number), lambda path: parquet.write_table(rows, path), once=True
        ) and not self.agrees(number, table):
            raise LedgerBroken(
                f"The file {self._file(number)} exists with other values than the ledger has "
                "stored, and is not overwritten. Restore the right ledger, or move the file "
                "away."
            )
        said = "\n\n".join(table.notes)
        self._put(self._path / "promise.txt", lambda path: path.write_text(f"{said}\n"))

    def _rows(self, number: int, table: StreamRelease) -> Any:
        """Return the rows of a step as an Arrow table."""
        dated = history([table], self._periods, number)
        exact = {column.name for column in dated.columns if column.confidence is None}
        arrow = load("pyarrow", extra="arrow")
        rows = dated.to_arrow()
        # use the same types in every file, also where all numbers happen to be integers
        types = [
            (each.name, each.type if each.name in exact else arrow.float64())
            for each in rows.schema
        ]
        return rows.cast(arrow.schema(types))

    def draw(self, stream: OpenStream, steps: int) -> None:
        """Write a Vega-Lite chart of the most recent of the first ``steps`` periods."""
        rows = max(1, stream.quote.groups)
        first = max(0, steps - max(1, MOST_DRAWN // rows))
        tables = [stream.release(number) for number in range(first, steps)]
        drawn = json.dumps(history(tables, self._periods, first).chart(), ensure_ascii=False)
        self._put(self._path / "chart.vl.json", lambda path: path.write_text(drawn))

    def _file(self, number: int) -> Path:
        return self._path / "table" / f"{self._periods.ends(number)[0].isoformat()}.parquet"

    def _put(self, path: Path, write: Callable[[Path], object], *, once: bool = False) -> bool:
        """Write a file atomically; with ``once``, an existing file is not overwritten."""
        with NamedTemporaryFile(dir=self._path, prefix=".", delete=False) as file:
            made = Path(file.name)
        try:
            write(made)
            made.chmod(0o644)
            with made.open("rb") as file:
                os.fsync(file.fileno())  # the name must not be durable before the content
            if not once:
                made.replace(path)
                return True
            return _move_unless_exists(made, path)
        finally:
            made.unlink(missing_ok=True)


def _move_unless_exists(made: Path, path: Path) -> bool:
    """Move a file to ``path`` unless that exists, and return whether it was moved."""
    try:
        path.hardlink_to(made)
    except FileExistsError:
        return False
    except OSError:  # the file system has no links: two processes could both come here
        if path.exists():
            return False
        made.replace(path)
    return True


# ------------------------------------------------------------------ release of due periods
# Published periods are compared with the ledger before anything is released. If a period is
# published but not in the ledger, the ledger is an old copy. It would draw new noise for that
# period, and both draws together would reveal more than was charged. The noise of the first
# draw cannot be recovered, so the publication stops.


@dataclass(frozen=True, slots=True)
class Published:
    """A step that was released and written."""

    number: int
    period: date
    table: StreamRelease


class Shelf(Protocol):
    """A destination of a publication: a folder or a database, with a table for each period."""

    def stored_periods(self) -> frozenset[date]:
        """Return the first day of each period that is stored, by this ledger or another."""
        ...

    def agrees(self, number: int, table: StreamRelease) -> bool:
        """Return whether the stored table of a period has the values of ``table``."""
        ...

    def write(self, number: int, table: StreamRelease) -> None:
        """Write the table of one period atomically; do not overwrite an existing one."""
        ...


def run(
    publication: Publication, session: Session, today: date, into: Path, *more: Shelf
) -> Iterator[Published]:
    """Release, in order, every period that is over on ``today`` and not yet released.

    Guarantee: if two processes run at once, each period is released once, and both write the
    same tables. A period that was released but not written, because the machine failed in
    between, is written now. Nothing is released if a published period is not in the ledger or
    differs from it. No published table is overwritten, and nothing is charged.
    """
    now = session.ledger.today()
    if today > now:
        raise InvalidValue(
            f"{today} is in the future: today is {now}. The data of a period that is not over "
            "is not complete, and a release is final. Give a day that is not after today."
        )
    stream = Publications(session.states).open(publication.name, session)
    periods = publication.periods
    folder = Folder(into / publication.name, periods)
    shelves: tuple[Shelf, ...] = (folder, *more)
    # Read the shelves before the ledger: another process writes to the ledger first, so a
    # period that it publishes meanwhile is then in the ledger.
    found = [shelf.stored_periods() for shelf in shelves]
    released = stream.released
    check_published(publication, stream, shelves, found, released)
    due = periods.due(today, publication.wait)
    for number in range(max(due, released)):
        new, day = number >= released, periods.ends(number)[0]
        missing = [shelf for shelf, days in zip(shelves, found, strict=True) if day not in days]
        if not missing:
            continue
        table = stream.release(number)
        for shelf in missing:
            shelf.write(number, table)
        if new:
            yield Published(number, day, table)
    if max(due, released):
        folder.draw(stream, max(due, released))


def check_published(
    publication: Publication,
    stream: OpenStream,
    shelves: tuple[Shelf, ...],
    found: list[frozenset[date]],
    released: int,
) -> None:
    """Raise if a published period is not in the ledger, or differs from it."""
    name = publication.name
    known = {publication.periods.ends(number)[0]: number for number in range(released)}
    for shelf, days in zip(shelves, found, strict=True):
        unknown = sorted(days - known.keys())
        if unknown:
            raise LedgerBroken(
                f"{unknown[0]} of {name!r} is published, but its release is not in the ledger: "
                "this ledger is an old copy, or another one. Releasing it again would draw new "
                "noise for a period that is already published. Restore the newest ledger. If "
                "it is lost, keep the published tables, end this publication with "
                f"`tacit publish withdraw {name}`, and declare a new one under a new name, for "
                "the periods after the last published one."
            )
        for day in sorted(days):
            if not shelf.agrees(known[day], stream.release(known[day])):
                raise LedgerBroken(
                    f"{day} of {name!r} is published with other values than the ledger has "
                    "stored: it was changed, or released by another ledger. It is not "
                    "overwritten. Restore the right ledger, or move the published table away; "
                    "the values of this ledger are then written again."
                )
