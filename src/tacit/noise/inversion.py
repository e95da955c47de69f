"""Draws from a law by comparing uniform words with its thresholds.

Exact, in bulk, in one pass.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

from tacit.noise.integers import Integers
from tacit.noise.law import Law, thresholds
from tacit.noise.table import Table
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class Inversion:
    """A sampler of ``law``: one word a draw, and another only where the first cannot decide.

    Guarantee: the law of the draws is exactly ``law``. Let U be uniform with the word as its
    leading bits. A word below the threshold of k means U < F(k), a word above it U > F(k), and
    a word equal to it is decided by more bits of the same U.
    Reference: Devroye 1986, chapter II.2 (inversion); Knuth, Yao 1976 (bits revealed as they
    are needed).

    Example:
        >>> from tacit.noise.weights import Categorical
        >>> from tacit.testing.entropy import ScriptedEntropy
        >>> coin = Inversion(Categorical((1, 1)))
        >>> coin.draw(ScriptedEntropy([0, 2**63 - 1, 2**63 + 1]), 3).tolist()
        [0, 0, 1]
    """

    law: Law

    def draw(self, entropy: Entropy, count: int) -> Integers:
        """``count`` independent draws."""
        words = entropy.words(count)
        drawn, undecided = _table(self.law, entropy.word_bits).find(words)
        for position in undecided:
            drawn[position] = self._decide(entropy, int(words[position]))
        return drawn

    def _decide(self, entropy: Entropy, leading: int) -> int:
        """The draw of a uniform number that begins with ``leading``, from more words of it."""
        bits = entropy.word_bits
        while True:
            leading = leading << entropy.word_bits | int(entropy.words(1)[0])
            bits += entropy.word_bits
            longer = thresholds(self.law, bits)
            drawn = bisect_right(longer, leading)
            if drawn == 0 or longer[drawn - 1] != leading:
                return drawn


@lru_cache(maxsize=256)
def _table(law: Law, bits: int) -> Table:
    return Table(thresholds(law, bits), bits)
