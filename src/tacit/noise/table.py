"""A sorted table of thresholds that can be searched for many words at once."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.noise.integers import Integers
from tacit.numeric.entropy import Words

GUIDE_BITS = 14
"""Leading bits that the guide is indexed by: it fits a core's cache, and tells most words."""

GUIDED_FROM = 4096
"""Words from which the guide pays; below, the plain search takes equal time for each."""


class Table:
    """Thresholds in order; a word's place is how many of them it has reached.

    Example:
        >>> table = Table((3, 5), bits=4)
        >>> places, undecided = table.find(np.array([2, 3, 4, 9], dtype=np.uint64))
        >>> places.tolist(), undecided.tolist()
        ([0, 1, 1, 2], [1])
    """

    def __init__(self, thresholds: tuple[int, ...], bits: int) -> None:
        self._bits = bits
        self._thresholds = np.array(thresholds, dtype=np.uint64)

    def find(self, words: Words) -> tuple[Integers, Integers]:
        """The place of each word, and which words equal a threshold: more bits decide those."""
        if words.size < GUIDED_FROM or self._bits < GUIDE_BITS:
            return self._search(words)
        cells = words >> np.uint64(self._bits - GUIDE_BITS)
        places = self._guide[cells.view(np.int64)].astype(np.int64)
        unclear = np.flatnonzero(places < 0)
        found, equal = self._search(words[unclear])
        places[unclear] = found
        return places, unclear[equal]

    def _search(self, words: Words) -> tuple[Integers, Integers]:
        places = np.searchsorted(self._thresholds, words, side="right")
        if not self._thresholds.size:
            return places, places[:0]
        # a word below all thresholds looks at the last one, which it does not equal
        return places, np.flatnonzero(self._thresholds[places - 1] == words)

    @cached_property
    def _guide(self) -> NDArray[np.int32]:
        """The place of all words with given leading bits, or -1 where their places differ."""
        starts = np.arange(2**GUIDE_BITS, dtype=np.uint64) << np.uint64(self._bits - GUIDE_BITS)
        before = np.searchsorted(self._thresholds, starts, side="left")
        after = np.append(before[1:], self._thresholds.size)
        return np.where(before == after, before, -1).astype(np.int32)
