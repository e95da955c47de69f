"""The noise of a stream, sealed in the store before any step that uses it is released."""

import json
from collections.abc import Callable

import numpy as np

from tacit.errors import Conflict, InvalidValue
from tacit.noise import Integers, packed
from tacit.numeric.entropy import Entropy, Words
from tacit.store import State, States
from tacit.stream.factor import Factor, Memory


class KeptNoise:
    """Noise by step: drawn once each, in order, durable and sealed before it is handed out.

    A factor that remembers all noise has a state for each step; any other has one state, whose
    version counts the steps, and of which what is past is gone.

    Guarantee: whoever asks for a step, and however often, is given the same noise, also after a
    crash; of two who draw it at once, one is heard. `Conflict` says that the step is past.
    """

    def __init__(self, states: States, name: str, factor: Factor) -> None:
        self._states = states
        self._name = name
        self._factor = factor
        self._memory: Memory = ()
        self._read = 0
        """How many steps the memory of a growing factor holds."""

    def at(self, number: int, draw: Callable[[], Integers]) -> Integers:
        """The noise of the step ``number``; ``draw`` gives fresh noise where it has none."""
        if self._factor.grows:
            return self._of_history(number, draw)
        found = self._states.find(self._name)
        if found.version == number:
            memory = _decoded(found)[1:] if number else ()
            found = self._drawn(self._name, found, number, memory, draw)
        if found.version != number + 1:
            raise Conflict("This step of a stream was released before; look it up.")
        return _decoded(found)[0]

    def _of_history(self, number: int, draw: Callable[[], Integers]) -> Integers:
        while self._read < number:
            found = self._states.find(self._place(self._read))
            if not found.version:
                raise InvalidValue("Steps of a stream are drawn in order.")
            self._memory = (*self._memory, _decoded(found)[0])
            self._read += 1
        place = self._place(number)
        found = self._states.find(place)
        if not found.version:
            found = self._drawn(place, found, number, self._memory[:number], draw)
        return _decoded(found)[0]

    def _drawn(
        self,
        place: str,
        seen: State,
        number: int,
        memory: Memory,
        draw: Callable[[], Integers],
    ) -> State:
        """The state with the noise of a step in it: ours, or that of who was sooner."""
        noise, after = self._factor.next(number, memory, draw())
        value = _encoded((noise, *(() if self._factor.grows else after)))
        try:
            return self._states.change(place, seen, value)
        except Conflict:
            return self._states.find(place)

    def _place(self, number: int) -> str:
        return f"{self._name}, step {number}"


def _encoded(arrays: Memory) -> bytes:
    return json.dumps([array.tolist() for array in arrays], separators=(",", ":")).encode()


def _decoded(state: State) -> Memory:
    return tuple(packed(numbers) for numbers in json.loads(state.value))


# ------------------------------------------------------------------ drawn once
# Words of entropy that are drawn once, and read again from the start as often as needed.


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
