"""Entropy from a script: the same code as in production, with every word chosen by the test."""

from collections.abc import Iterable

import numpy as np

from tacit.errors import InvalidValue
from tacit.numeric.entropy import Words


class ScriptEnded(Exception):
    """A sampler asked for a word beyond the end of its script."""


class ScriptedEntropy:
    """The words of ``script``, in order, and then `ScriptEnded`.

    Narrow words make a sampler small enough to be enumerated whole: with 4 bits a word, four
    words are 65,536 scripts.

    Example:
        >>> script = ScriptedEntropy([1, 2, 3], word_bits=4)
        >>> script.words(2).tolist(), script.used
        ([1, 2], 2)
    """

    def __init__(self, script: Iterable[int], word_bits: int = 64) -> None:
        self.word_bits = word_bits
        self.used = 0
        self._script = list(script)
        if any(not 0 <= word < 2**word_bits for word in self._script):
            raise InvalidValue(
                f"A script of {word_bits}-bit words holds integers below 2**{word_bits}."
            )

    def words(self, count: int) -> Words:
        """The next ``count`` words of the script."""
        if self.used + count > len(self._script):
            raise ScriptEnded
        words = self._script[self.used : self.used + count]
        self.used += count
        return np.array(words, dtype=np.uint64)
