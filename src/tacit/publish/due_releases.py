"""A publication as files: a Parquet file for each period, a chart, and what is promised."""

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
"""Rows of a chart; of a longer history the last steps are drawn."""


class Folder:
    """The folder of a publication; ``table`` in it is one table, of a Parquet file a period.

    Guarantee: a file is there whole or not at all, and once there stays what it is.
    """

    def __init__(self, path: Path, periods: Periods) -> None:
        (path / "table").mkdir(parents=True, exist_ok=True)
        self._path = path
        self._periods = periods

    def there(self) -> frozenset[date]:
        """Return the first days of all periods that have a file here.

        A file that is named by no day is none of ours, and is refused.
        """
        found = set()
        for file in (self._path / "table").glob("*.parquet"):
            try:
                found.add(date.fromisoformat(file.stem))
            except ValueError:
                raise InvalidValue(
                    f"{file} is no period of this publication; move it away: all files beside "
                    "it are read as one table."
                ) from None
        return frozenset(found)

    def agrees(self, number: int, table: StreamRelease) -> bool:
        """Whether the file of a step holds the values of ``table``.

        Intervals are computed from values, by rules that later versions may sharpen, and are
        not compared.
        """
        parquet = load("pyarrow.parquet", extra="arrow")
        names = [column.name for column in history([table], self._periods, number).columns]
        try:
            found = parquet.read_table(self._file(number), columns=names)
        except (OSError, ValueError):  # Arrow's own errors are of these kinds
            return False
        wanted = self._rows(number, table).select(names)
        # as text, in which a number that is none equals itself
        return str(found.to_pydict()) == str(wanted.to_pydict())

    def write(self, number: int, table: StreamRelease) -> None:
        """Write the file of a step, beside the sentences that hold for all of them."""
        parquet = load("pyarrow.parquet", extra="arrow")
        rows = self._rows(number, table)
        if not self._put(
            self._file(number), lambda path: parquet.write_table(rows, path), once=True
        ) and not self.agrees(number, table):
            raise LedgerBroken(
                f"{self._file(number)} is there with other values than the ledger keeps, and "
                "is not overwritten."
            )
        said = "\n\n".join(table.notes)
        self._put(self._path / "promise.txt", lambda path: path.write_text(f"{said}\n"))

    def _rows(self, number: int, table: StreamRelease) -> Any:
        """Return the rows of a step as Arrow's table."""
        told = history([table], self._periods, number)
        exact = {column.name for column in told.columns if column.confidence is None}
        arrow = load("pyarrow", extra="arrow")
        rows = told.to_arrow()
        # the same types in every file, whether or not its numbers happen to be whole
        types = [
            (each.name, each.type if each.name in exact else arrow.float64())
            for each in rows.schema
        ]
        return rows.cast(arrow.schema(types))

    def draw(self, stream: OpenStream, steps: int) -> None:
        """Draw the last of the first ``steps`` steps, as a Vega-Lite chart."""
        rows = max(1, stream.quote.groups)
        first = max(0, steps - max(1, MOST_DRAWN // rows))
        tables = [stream.release(number) for number in range(first, steps)]
        drawn = json.dumps(history(tables, self._periods, first).chart(), ensure_ascii=False)
        self._put(self._path / "chart.vl.json", lambda path: path.write_text(drawn))

    def _file(self, number: int) -> Path:
        return self._path / "table" / f"{self._periods.ends(number)[0].isoformat()}.parquet"

    def _put(self, path: Path, write: Callable[[Path], object], *, once: bool = False) -> bool:
        """Write a file whole; what is to be there ``once`` is not overwritten."""
        with NamedTemporaryFile(dir=self._path, prefix=".", delete=False) as file:
            made = Path(file.name)
        try:
            write(made)
            made.chmod(0o644)
            with made.open("rb") as file:
                os.fsync(file.fileno())  # a name must not be on the disk before its bytes
            if not once:
                made.replace(path)
                return True
            return _placed(made, path)
        finally:
            made.unlink(missing_ok=True)


def _placed(made: Path, path: Path) -> bool:
    """Give a file its name, unless another has it; whether it has it now."""
    try:
        path.hardlink_to(made)
    except FileExistsError:
        return False
    except OSError:  # a disk without links: two at once could both come here
        if path.exists():
            return False
        made.replace(path)
    return True


# ------------------------------------------------------------------ run
# Release what is due: each period once, whoever runs it and however often.
#
# What was published is compared with the ledger before anything is released. A period that is
# published and that the ledger does not know of says that the ledger is an old copy: it would
# draw that period again, with new noise, and both draws together tell more than was paid for.
# No noise can be made that is both fresh and the same, so the publication stops.


@dataclass(frozen=True, slots=True)
class Published:
    """A step that was released and written."""

    number: int
    period: date
    table: StreamRelease


class Shelf(Protocol):
    """Where the tables of a publication lie, a part for each step."""

    def there(self) -> frozenset[date]:
        """Return the first days of all periods that lie here, of this ledger or not."""
        ...

    def agrees(self, number: int, table: StreamRelease) -> bool:
        """Whether the part of a step, which is there, holds the values of ``table``."""
        ...

    def write(self, number: int, table: StreamRelease) -> None:
        """Put it there, whole or not at all; what is there already is not overwritten."""
        ...


def run(
    publication: Publication, session: Session, today: date, into: Path, *more: Shelf
) -> Iterator[Published]:
    """Release every period that is over by ``today`` and was not yet, in order.

    Guarantee: two that run at once release each period once, and write the same tables. What
    was released and not written, because the machine failed between, is written now. Nothing
    is released where something is published that the ledger does not know of, or that differs
    from what it keeps; no published table is overwritten, and nothing is charged.
    """
    now = session.ledger.today()
    if today > now:
        raise InvalidValue(
            f"{today} is in the future: today is {now}. The data of a period that is not over "
            "is not complete, and what is released of it is final."
        )
    stream = Publications(session.states).open(publication.name, session)
    periods = publication.periods
    folder = Folder(into / publication.name, periods)
    shelves: tuple[Shelf, ...] = (folder, *more)
    # looked at before the ledger: what others publish meanwhile is in the ledger first
    found = [shelf.there() for shelf in shelves]
    released = stream.released
    check_published(publication, stream, shelves, found, released)
    due = periods.due(today, publication.wait)
    for number in range(max(due, released)):
        new, day = number >= released, periods.ends(number)[0]
        missing = [
            shelf for shelf, there in zip(shelves, found, strict=True) if day not in there
        ]
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
    """Refuse to go on where what is published is not what the ledger keeps."""
    name = publication.name
    known = {publication.periods.ends(number)[0]: number for number in range(released)}
    for shelf, there in zip(shelves, found, strict=True):
        unknown = sorted(there - known.keys())
        if unknown:
            raise LedgerBroken(
                f"{unknown[0]} of {name!r} is published, and the ledger does not know that it "
                "was released: this ledger is an old copy, or another one. Releasing it again "
                "would draw new noise for a period that is out already. Put back the newest "
                "ledger. Where it is lost, keep what is published, end this publication by "
                f"`tacit publish withdraw {name}`, and declare a new one under a new name, for "
                "the periods after the last one that is published."
            )
        for day in sorted(there):
            if not shelf.agrees(known[day], stream.release(known[day])):
                raise LedgerBroken(
                    f"{day} of {name!r} is published with other values than the ledger keeps: "
                    "it was changed, or released by another ledger. It is not overwritten. "
                    "Put the right ledger back, or move away what is published, and what this "
                    "ledger keeps is written again."
                )
