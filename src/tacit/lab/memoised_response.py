"""What a person's own machine remembers, so that many waves tell no more than one."""

from tacit.local import Oracle
from tacit.noise import Integers
from tacit.numeric.entropy import Entropy


class Memory:
    """The first report of a person, told again in every later wave.

    Guarantee: all waves together lose what the first one does, since the later reports are
    copies of it. The answer itself is not kept, and a later one is not looked at: a new report
    for a changed answer would show that it changed, which no ratio bounds.

    Example:
        >>> from fractions import Fraction
        >>> import numpy as np
        >>> from tacit.local.frequency_oracles import KAry
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> mine = Memory(KAry(choices=5, ratio=Fraction(2)), SystemEntropy(b"my machine"))
        >>> first = mine.report(np.array([3]))
        >>> bool((mine.report(np.array([4])) == first).all())
        True
    """

    def __init__(self, oracle: Oracle, entropy: Entropy) -> None:
        self._oracle = oracle
        self._entropy = entropy
        self._told: Integers | None = None

    def report(self, answer: Integers) -> Integers:
        """The report of the first answer that was ever given here."""
        if self._told is None:
            self._told = self._oracle.randomise(answer, self._entropy)
        return self._told
