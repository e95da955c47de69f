"""The exact law of a sampler, by walking through every script of words that it could read."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from tacit.numeric.entropy import Entropy
from tacit.testing.entropy import ScriptedEntropy, ScriptEnded


@dataclass(frozen=True, slots=True)
class Enumerated:
    """The probability of each outcome within so many words, and of needing more."""

    outcomes: dict[int, Fraction]
    undecided: Fraction

    def allows(self, outcome: int, least: Fraction, most: Fraction) -> bool:
        """Whether a probability between ``least`` and ``most`` can be that of ``outcome``."""
        found = self.outcomes.get(outcome, Fraction(0))
        return found <= most and least <= found + self.undecided


def enumerated(draw: Callable[[Entropy], int], word_bits: int, longest: int) -> Enumerated:
    """What ``draw`` gives over all scripts of at most ``longest`` words of ``word_bits`` bits.

    Example:
        >>> enumerated(
        ...     lambda entropy: int(entropy.words(1)[0]) % 3, word_bits=2, longest=1
        ... ).outcomes
        {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}
    """
    outcomes: dict[int, Fraction] = defaultdict(Fraction)
    undecided = Fraction(0)
    for script, outcome in _walk(draw, word_bits, longest, ()):
        mass = Fraction(1, 2 ** (word_bits * len(script)))
        if outcome is None:
            undecided += mass
        else:
            outcomes[outcome] += mass
    return Enumerated(dict(outcomes), undecided)


def _walk(
    draw: Callable[[Entropy], int], word_bits: int, longest: int, script: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], int | None]]:
    """Each script with its outcome, or None where ``longest`` words are too few."""
    try:
        yield script, draw(ScriptedEntropy(script, word_bits))
    except ScriptEnded:
        if len(script) == longest:
            yield script, None
            return
        for word in range(2**word_bits):
            yield from _walk(draw, word_bits, longest, (*script, word))
