"""An exponential clock, read only as finely as a comparison needs.

An exponential variable E with mean 1 outlives the moment x with probability exp(-x). Its
reading in ticks of two to the ``-TICK_BITS`` is a geometric draw, and each further binary digit
of it is independent of those before, so a comparison with any rational moment is decided
exactly by finitely many digits.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.noise.geometric import DIGIT_BITS, Geometric
from tacit.noise.integers import Integers
from tacit.noise.inversion import Inversion
from tacit.noise.weights import Decay
from tacit.numeric.entropy import Entropy

TICK_BITS = 40
"""Binary digits of the first reading.

A comparison needs more with probability near two to the minus this.
"""


def outlives(
    entropy: Entropy, least: Integers, most: Integers, moment: Callable[[int], Fraction]
) -> NDArray[np.bool_]:
    """Whether each clock outlives its moment, which lies between ``least`` and ``most`` ticks.

    ``moment(i)`` is the exact moment of the i-th clock, asked for where the first reading
    cannot tell.

    Guarantee: true with probability exactly exp(-moment), independently for each clock.
    """
    ticks = Geometric(Fraction(2**TICK_BITS)).draw(entropy, least.size)
    alive: NDArray[np.bool_] = np.asarray(ticks >= most, dtype=np.bool_)
    for position in np.flatnonzero(~alive & np.asarray(ticks >= least, dtype=np.bool_)):
        alive[position] = _read_on(entropy, int(ticks[position]), moment(int(position)))
    return alive


def _read_on(entropy: Entropy, ticks: int, moment: Fraction) -> bool:
    """Whether a clock that shows ``ticks`` at its first reading outlives ``moment``."""
    bits = TICK_BITS
    while ticks <= moment * 2**bits < ticks + 1:
        bits += DIGIT_BITS
        digit = Inversion(Decay(Fraction(2**bits), 2**DIGIT_BITS)).draw(entropy, 1)
        ticks = ticks << DIGIT_BITS | int(digit[0])
    return bool(ticks > moment * 2**bits)
