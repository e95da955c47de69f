"""A publication as files: a Parquet file for each period, a chart, and what is promised."""

import json
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from tacit.errors import InvalidValue, LedgerBroken
from tacit.extras import load
from tacit.stream.history import history
from tacit.stream.open_stream import OpenStream
from tacit.stream.stream import Periods
from tacit.stream.table import StreamRelease

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
