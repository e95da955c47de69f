"""Memoised responses in the local model: repeated surveys cost as much as one."""

from tacit.local import Oracle
from tacit.noise import Integers
from tacit.numeric.entropy import Entropy


class Memory:
    """A respondent's device that sends its first report again in every later survey wave.

    Guarantee: all waves together have the privacy loss of the first one, since later reports
    are copies of it. The answer itself is not stored, and later answers are ignored: a new
    report for a changed answer would reveal that it changed, and no ratio would bound this.

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
        self._first_report: Integers | None = None

    def report(self, answer: Integers) -> Integers:
        """Return the report of the first answer; later answers are ignored."""
        if self._first_report is None:
            self._first_report = self._oracle.randomise(answer, self._entropy)
        return self._first_report
