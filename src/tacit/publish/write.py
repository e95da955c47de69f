"""A publication as files: a Parquet file for each period, a chart, and what is promised."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile

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

    def holds(self, number: int) -> bool:
        """Whether the file of a step is there."""
        return self._file(number).exists()

    def write(self, number: int, table: StreamRelease) -> None:
        """Write the file of a step, beside the sentences that hold for all of them."""
        told = history([table], self._periods, number)
        exact = {column.name for column in told.columns if column.confidence is None}
        arrow, parquet = (load(f"pyarrow{part}", extra="arrow") for part in ("", ".parquet"))
        rows = told.to_arrow()
        # the same types in every file, whether or not its numbers happen to be whole
        types = [
            (each.name, each.type if each.name in exact else arrow.float64())
            for each in rows.schema
        ]
        rows = rows.cast(arrow.schema(types))
        self._put(self._file(number), lambda path: parquet.write_table(rows, path))
        said = "\n\n".join(table.notes)
        self._put(self._path / "promise.txt", lambda path: path.write_text(f"{said}\n"))

    def draw(self, stream: OpenStream, steps: int) -> None:
        """Draw the last of the first ``steps`` steps, as a Vega-Lite chart."""
        rows = max(1, stream.quote.groups)
        first = max(0, steps - max(1, MOST_DRAWN // rows))
        tables = [stream.release(number) for number in range(first, steps)]
        drawn = json.dumps(history(tables, self._periods, first).chart(), ensure_ascii=False)
        self._put(self._path / "chart.vl.json", lambda path: path.write_text(drawn))

    def _file(self, number: int) -> Path:
        return self._path / "table" / f"{self._periods.ends(number)[0].isoformat()}.parquet"

    def _put(self, path: Path, write: Callable[[Path], object]) -> None:
        with NamedTemporaryFile(dir=self._path, prefix=".", delete=False) as file:
            made = Path(file.name)
        try:
            write(made)
            made.chmod(0o644)
            with made.open("rb") as file:
                os.fsync(file.fileno())  # a name must not be on the disk before its bytes
            made.replace(path)
        finally:
            made.unlink(missing_ok=True)
