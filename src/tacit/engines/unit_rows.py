"""Rows that a fit reads many times, in blocks of whole units and with bounded memory.

A fit on rows must not fail because of the number of rows. "5,000,001 rows are too many" would
be an exact answer about a number that nobody paid for, and a process that runs out of memory
reveals nearly the same. So nothing here limits the number of rows. An engine writes the rows
that a plan keeps, part by part, and a solver reads them in blocks of a public size:

- A row is a unit's number and one 64-bit integer for each tally. The number is computed from
  the mark that the engine returns for a unit: the engine's own number, or a digest
  (`tacit.engines.print.statement`). A mark has a fixed size, and two units have different
  marks. It never becomes a text or a float of NumPy: a NumPy text loses trailing NULs, and each
  entry is as long as the longest one; a float has 53 bits. Either could merge two units, which
  would be clipped together, so that one unit changes a sum by more than its sensitivity.
- The rows of a unit are next to each other, ordered by their integers. A sum of floats depends
  on the order of its terms, so the order must be a function of the unit's own rows. With rows
  in the order in which an engine found them, the rounding of one unit could depend on another.
- A block contains whole units, so that one unit is processed at one place.
- Above `IN_MEMORY` bytes, rows are written to a file without a name, which disappears with the
  process. It is read and not memory-mapped, so that a worker's address space can be limited.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from operator import ne
from tempfile import TemporaryFile
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InternalError
from tacit.noise import Integers

IN_MEMORY = 2**26
"""The largest number of bytes in memory; above it, all rows are in a file."""

BLOCK_ENTRIES = 2**21
"""Numbers that are computed from one block: 16 MB of floats, for any number of columns."""

PART = 2**16
"""The number of rows that are fetched from an engine at a time."""

NAMES = frozenset({bytes, int, str})
"""Types of units' marks in Python: equal objects of these types are the same mark."""

Unit = bytes | int | str


class UnitRows:
    """Rows of integers that are read in blocks; the first column is the unit's number.

    Example:
        >>> rows = UnitRows(1)
        >>> rows.add(["ann", "ann", "bob"], [[7, 9, 8]])
        >>> [block.tolist() for block in rows.blocks()]
        [[[0, 7], [0, 9], [1, 8]]]
    """

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self._width = 1 + columns
        self._parts: list[Integers] = []
        self._held = 0
        self._file: Any = None
        self._last: Any = None
        self._units = 0

    @classmethod
    def of(cls, matrix: Integers) -> Self:
        """Return the rows of a sorted matrix, whose first column is the number of the unit."""
        found = cls(matrix.shape[1] - 1)
        found.add(matrix[:, 0], matrix[:, 1:].T)
        return found

    def add(
        self, units: Integers | Sequence[Unit], columns: Iterable[Integers | Sequence[int]]
    ) -> None:
        """Add rows, given by columns, after the rows of earlier calls.

        Rows of one unit must be next to each other, also across calls. Units are an array of
        64-bit integers, or a sequence of Python objects, which are compared exactly.

        Raises:
            InternalError: A type could merge two units or round a number. This depends on the
                types of a statement, and not on a row.
        """
        if not len(units):
            return
        first = self._units == 0 or bool(units[0] != self._last)
        numbers = self._units - 1 + first + _changes_before(units)
        self._last, self._units = units[-1], int(numbers[-1]) + 1
        found = np.empty((len(units), self._width), dtype=np.int64)
        found[:, 0] = numbers
        for place, values in enumerate(columns, start=1):
            found[:, place] = _integers(values)
        self._parts.append(found)
        self._held += found.nbytes
        if self._file is not None or self._held > IN_MEMORY:
            self._spill()

    def blocks(self, entries: int = 1) -> Iterator[Integers]:
        """Read all rows, in blocks of whole units.

        ``entries`` is how many numbers the caller computes from each row. A block has so many
        rows that about `BLOCK_ENTRIES` numbers are computed, and at least the rows of one unit.
        """
        size = max(1, BLOCK_ENTRIES // max(1, entries, self._width))
        if self._file is not None:
            yield from self._read(size)
        elif self._parts:
            whole = self._parts[0] if len(self._parts) == 1 else np.concatenate(self._parts)
            self._parts = [whole]
            start = 0
            while start < len(whole):
                last = whole[min(start + size, len(whole)) - 1, 0]
                end = int(np.searchsorted(whole[:, 0], last, side="right"))
                yield whole[start:end]
                start = end

    def _spill(self) -> None:
        """Write the rows in memory to the file."""
        if self._file is None:
            self._file = TemporaryFile(prefix="tacit-rows-", buffering=0)  # noqa: SIM115 - stays open
        for part in self._parts:
            left = memoryview(part.tobytes())
            while left:  # a raw file may write only a part of it
                left = left[self._file.write(left) :]
        self._parts, self._held = [], 0

    def _read(self, size: int) -> Iterator[Integers]:
        """Read blocks from the file; rows of an incomplete unit are kept for the next block."""
        place, kept = 0, np.empty((0, self._width), dtype=np.int64)
        while True:
            read = self._rows_at(place, size)
            place += len(read)
            found = np.concatenate([kept, read])
            if not len(read):
                break
            # the position where the last unit begins, which may continue in the next part
            cut = int(np.searchsorted(found[:, 0], found[-1, 0], side="left"))
            if cut:
                yield found[:cut]
            kept = found[cut:]
        if len(kept):
            yield kept

    def _rows_at(self, place: int, size: int) -> Integers:
        """Read at most ``size`` rows, beginning with the row number ``place``."""
        row = 8 * self._width
        self._file.seek(place * row)
        found = bytearray()
        while len(found) < size * row:
            more = self._file.read(size * row - len(found))
            if not more:
                break
            found += more
        return np.frombuffer(bytes(found), dtype=np.int64).reshape(-1, self._width)

    def __del__(self) -> None:
        """Close the file, which has no name and disappears."""
        with suppress(AttributeError, OSError):
            if self._file is not None:
                self._file.close()


def sorted_rows(units: Sequence[Unit], columns: Sequence[Sequence[int]]) -> UnitRows:
    """Return rows sorted by unit and then by their integers, for an unsorted source."""
    found = UnitRows(len(columns))
    if not len(units):
        return found
    values = [_integers(column) for column in columns]
    number_of = {name: number for number, name in enumerate(sorted(set(units)))}
    numbers = _integers([number_of[name] for name in units])
    order = np.lexsort([*values[::-1], numbers])
    found.add(numbers[order], [column[order] for column in values])
    return found


def _changes_before(units: Integers | Sequence[Unit]) -> Integers:
    """Return for each row how often the unit has changed so far; units are compared exactly."""
    changes: NDArray[np.bool_]
    if isinstance(units, np.ndarray):
        whole = _integers(units)
        changes = np.asarray(whole[1:] != whole[:-1])
    else:
        if not NAMES.issuperset(map(type, units)):
            raise InternalError("The type of a unit's mark cannot be compared exactly.")
        pairs = map(ne, islice(units, 1, None), units)
        changes = np.fromiter(pairs, dtype=np.bool_, count=len(units) - 1)
    found = np.zeros(len(units), dtype=np.int64)
    np.cumsum(changes, out=found[1:])
    return found


def _integers(values: Integers | Sequence[int]) -> Integers:
    """Return 64-bit integers as an array; refuse other types, which would be rounded."""
    if not isinstance(values, np.ndarray):
        # Python's array refuses floats, and integers that do not fit
        return np.frombuffer(array("q", values), dtype=np.int64)
    if values.dtype != np.int64:
        raise InternalError("A column of a fit does not consist of 64-bit integers.")
    return values
