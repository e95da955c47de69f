"""Rows that a fit reads again and again, in blocks of whole units: memory has a fixed bound.

A fit on rows must not fail by how many there are. Whether 5,000,001 rows are too many is an
exact answer about a number that nobody paid for, and a process that runs out of memory tells
the same more roughly. So nothing here counts rows against a cap. An engine writes the rows that
a plan keeps, one part after the other, and whoever computes with them reads blocks of a public
size:

- a row is a unit's number and one 64-bit integer for each tally. The number is found from
  what an engine hands on for the unit, which has a fixed size and tells any two units apart:
  a number of the engine's own, or a digest (`tacit.engines.print.statement`). It never
  becomes text or a float of NumPy. Text of NumPy loses NULs at its end, and each of its
  entries is as long as the longest; a float holds 53 bits. Either makes one unit of two,
  which are then clipped together, so that one of them moves a sum by more than its reach;
- the rows of a unit stand together, ordered by their integers. A sum of floats depends on the
  order of its terms, so the order must be a function of the unit's own rows: an engine that
  hands on rows in the order in which it found them may round one unit by another one's;
- a block holds whole units, so that what is computed of a unit is computed in one place;
- beyond `IN_MEMORY` bytes the rows go to a file without a name, which ends with the process. It
  is read, and not mapped: limits on a worker's address space do not grow with the table.
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
"""Bytes of rows that are kept in memory; beyond them, all are in a file."""

BLOCK_ENTRIES = 2**21
"""Numbers that one block gives rise to: 16 MB of floats, however many columns there are."""

PART = 2**16
"""Rows that are taken from an engine at a time."""

NAMES = frozenset({bytes, int, str})
"""What names a unit in Python: types of which equal objects are the same name."""

Unit = bytes | int | str


class UnitRows:
    """Rows of integers, whose first column numbers the unit, to be read in blocks.

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
        """Take a matrix of rows whose first column is the unit, in order."""
        found = cls(matrix.shape[1] - 1)
        found.add(matrix[:, 0], matrix[:, 1:].T)
        return found

    def add(
        self, units: Integers | Sequence[Unit], columns: Iterable[Integers | Sequence[int]]
    ) -> None:
        """Add rows by their columns, in the order that the whole has.

        Equal units stand together, also across calls. Units are an array of 64-bit integers, or
        a sequence of Python's own names, which are compared as they are.

        Raises:
            InternalError: What is handed in has a type that may take two names for one, or that
                rounds a number. It is a fact of a statement's types, and not of a row.
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

        ``entries`` is how many numbers each row gives rise to where it is used. A block has as
        many rows as give `BLOCK_ENTRIES` of them, and at least those of one unit.
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
        """Write what is in memory to the file."""
        if self._file is None:
            self._file = TemporaryFile(prefix="tacit-rows-", buffering=0)  # noqa: SIM115 - it is kept
        for part in self._parts:
            left = memoryview(part.tobytes())
            while left:  # a raw file may take a part of what it is given
                left = left[self._file.write(left) :]
        self._parts, self._held = [], 0

    def _read(self, size: int) -> Iterator[Integers]:
        """Read blocks from the file; the rows of a unit that goes on are left to the next."""
        place, kept = 0, np.empty((0, self._width), dtype=np.int64)
        while True:
            read = self._rows_at(place, size)
            place += len(read)
            found = np.concatenate([kept, read])
            if not len(read):
                break
            # where the last unit of what was read begins
            cut = int(np.searchsorted(found[:, 0], found[-1, 0], side="left"))
            if cut:
                yield found[:cut]
            kept = found[cut:]
        if len(kept):
            yield kept

    def _rows_at(self, place: int, size: int) -> Integers:
        """Read at most ``size`` rows, from a place on."""
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
        """Let go of the file, which has no name."""
        with suppress(AttributeError, OSError):
            if self._file is not None:
                self._file.close()


def sorted_rows(units: Sequence[Unit], columns: Sequence[Sequence[int]]) -> UnitRows:
    """The rows of an engine that cannot sort: by unit, and then by their integers."""
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
    """How often the unit has changed up to each row, from 0 on; names are compared exactly."""
    changes: NDArray[np.bool_]
    if isinstance(units, np.ndarray):
        whole = _integers(units)
        changes = np.asarray(whole[1:] != whole[:-1])
    else:
        if not NAMES.issuperset(map(type, units)):
            raise InternalError("A unit is named by what cannot be compared exactly.")
        pairs = map(ne, islice(units, 1, None), units)
        changes = np.fromiter(pairs, dtype=np.bool_, count=len(units) - 1)
    found = np.zeros(len(units), dtype=np.int64)
    np.cumsum(changes, out=found[1:])
    return found


def _integers(values: Integers | Sequence[int]) -> Integers:
    """Numbers that are 64-bit integers already; any other type would have to be rounded."""
    if not isinstance(values, np.ndarray):
        # an array of Python's takes no float, and no integer that does not fit
        return np.frombuffer(array("q", values), dtype=np.int64)
    if values.dtype != np.int64:
        raise InternalError("A column of a fit is not of 64-bit integers.")
    return values
