"""The noise of a stream, sealed in the store before any step that uses it is released.

`SealedNoise` stores the noise of each step, so that a step that is computed again after a crash
gets the same noise. `ReplayableEntropy` does this in memory, for one decision that may be
recomputed after a lost race. In both cases, fresh noise at each attempt would let an attacker
average several draws, or choose among them.
"""

import json
from collections.abc import Callable

import numpy as np

from tacit.errors import Conflict, InvalidValue
from tacit.noise import Integers, integer_array
from tacit.numeric.entropy import Entropy, Words
from tacit.store import State, States
from tacit.stream.factor import Factor, Memory


class SealedNoise:
    """Noise by step: drawn once, in order, and stored sealed before it is returned.

    For a factor that remembers all noise, each step has its own state in the store. For other
    factors there is one state, whose version is the number of steps; the noise of past steps
    is overwritten.

    Guarantee: every request for a step returns the same noise, also after a crash. If two
    processes draw the noise of a step at once, both get the draw that was stored first.
    `Conflict` is raised for a step whose noise has been overwritten.
    """

    def __init__(self, states: States, name: str, factor: Factor) -> None:
        self._states = states
        self._name = name
        self._factor = factor
        self._memory: Memory = ()
        self._read = 0
        """Number of steps in the memory of a factor that grows."""

    def at(self, number: int, draw: Callable[[], Integers]) -> Integers:
        """Return the noise of step ``number``, and call ``draw`` if it is not yet stored."""
        if self._factor.grows:
            return self._noise_with_history(number, draw)
        found = self._states.find(self._name)
        if found.version == number:
            memory = _decode(found)[1:] if number else ()
            found = self._draw_and_store(self._name, found, number, memory, draw)
        if found.version != number + 1:
            raise Conflict(
                "This step of the stream was released before. Read its stored release."
            )
        return _decode(found)[0]

    def _noise_with_history(self, number: int, draw: Callable[[], Integers]) -> Integers:
        while self._read < number:
            found = self._states.find(self._place(self._read))
            if not found.version:
                raise InvalidValue(
                    "The noise of an earlier step is missing. Release the steps of a stream "
                    "in order."
                )
            self._memory = (*self._memory, _decode(found)[0])
            self._read += 1
        place = self._place(number)
        found = self._states.find(place)
        if not found.version:
            found = self._draw_and_store(place, found, number, self._memory[:number], draw)
        return _decode(found)[0]

    def _draw_and_store(
        self,
        place: str,
        seen: State,
        number: int,
        memory: Memory,
        draw: Callable[[], Integers],
    ) -> State:
        """Store fresh noise, and return the state: ours, or the one of a faster process."""
        noise, after = self._factor.next(number, memory, draw())
        value = _encode((noise, *(() if self._factor.grows else after)))
        try:
            return self._states.change(place, seen, value)
        except Conflict:
            return self._states.find(place)

    def _place(self, number: int) -> str:
        return f"{self._name}, step {number}"


def _encode(arrays: Memory) -> bytes:
    return json.dumps([array.tolist() for array in arrays], separators=(",", ":")).encode()


def _decode(state: State) -> Memory:
    return tuple(integer_array(numbers) for numbers in json.loads(state.value))


# ------------------------------------------------------------------ replayable entropy


class ReplayableEntropy:
    """An entropy source that can be rewound, for a decision that may be computed again.

    A decision that loses a race is computed again from the state that the winner wrote. It
    must use the random words of its first attempt: with fresh words, an attacker could choose
    among several draws.

    Example:
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> drawn = ReplayableEntropy(SystemEntropy(b"a charge"))
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
        """Number of random bits in a word."""
        return self._entropy.word_bits

    def words(self, count: int) -> Words:
        """Return the next ``count`` words, and draw fresh ones only after all stored words."""
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
