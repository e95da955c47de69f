"""Words of entropy that are drawn once, and read again from the start as often as needed."""

import numpy as np

from tacit.numeric.entropy import Entropy, Words


class DrawnOnce:
    """The entropy of one decision, which may have to be computed more than once.

    A decision that loses a race is computed again by the state that the winner wrote. It uses
    the noise that it had: fresh noise for each attempt would be a choice among draws.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> drawn = DrawnOnce(SystemEntropy(b"a charge"))
        >>> first = drawn.words(3).tolist()
        >>> drawn.rewind()
        >>> drawn.words(3).tolist() == first
        True
    """

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._drawn: Words = np.empty(0, dtype=np.uint64)
        self._read = 0

    @property
    def word_bits(self) -> int:
        """The width of a word."""
        return self._entropy.word_bits

    def words(self, count: int) -> Words:
        """Return the next ``count`` words; those beyond all that were drawn are fresh."""
        end = self._read + count
        missing = end - len(self._drawn)
        if missing > 0:
            self._drawn = np.concatenate([self._drawn, self._entropy.words(missing)])
        words = self._drawn[self._read : end]
        self._read = end
        return words

    def rewind(self) -> None:
        """Begin again with the first word."""
        self._read = 0
