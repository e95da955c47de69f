"""How the noise of one step depends on that of the steps before.

A stream of integers x is released as x + v, where v is noise with a memory. Behind it stands a
matrix C: what is released is computed from C x + z alone, where z is fresh, independent noise
on integers. The noise that is remembered cancels in sums of steps, so that sums err by far less
than independent noise would make them.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.core.sensitivity import Sensitivity
from tacit.noise.integers import Integers
from tacit.stream.window import Window

Numbers = NDArray[np.float64]

Memory = tuple[Integers, ...]
"""What a factor must know of the noise so far; secret for ever."""


class Factor(Protocol):
    """One way to give noise a memory, over a horizon of so many steps.

    Guarantee: the releases of all steps are a function of integers that one unit moves by at
    most `moved`, each with fresh noise of its own. Noise is told in parts of 2**-bits.
    """

    def __hash__(self) -> int: ...

    @property
    def horizon(self) -> int:
        """The number of steps."""
        ...

    @property
    def bits(self) -> int:
        """Noise is a whole number of parts of 2**-bits."""
        ...

    @property
    def grows(self) -> bool:
        """Whether all noise so far is remembered; the memory of others has one size."""
        ...

    def moved(self, step: Sensitivity, steps: int) -> Sensitivity:
        """How far a unit moves what is noised, if it moves ``steps`` steps by ``step`` each."""
        ...

    def next(self, number: int, memory: Memory, fresh: Integers) -> tuple[Integers, Memory]:
        """The noise of the step ``number``, from 0 on, and what is remembered after it.

        An empty memory is that before the first step; a growing one gains the noise itself.
        """
        ...

    def spread(self, window: Window) -> Numbers:
        """For each step, the deviation of what is shown, where a fresh draw has one of 1."""
        ...
