"""The randomiser with the least error for so many answers at a ratio."""

from fractions import Fraction

from tacit.errors import InvalidValue
from tacit.local.frequency_oracles import Hadamard, Hashing, KAry, Subset, Unary
from tacit.local.mean_oracles import OneBit, Piecewise
from tacit.local.oracle import STEP, MeanOracle, Oracle
from tacit.numeric import floor_to, sqrt_bounds


def oracles(choices: int, ratio: Fraction) -> tuple[Oracle, ...]:
    """Every randomiser at its best for so many answers, none of a ratio above ``ratio``."""
    found: list[Oracle] = [
        KAry(choices, ratio),
        Subset.best(choices, ratio),
        Unary.optimised(choices, ratio),
        Hashing.best(choices, ratio),
        Hadamard(choices, ratio),
    ]
    root = floor_to(sqrt_bounds(ratio)[0], STEP)
    if root > 1:
        found.append(Unary.symmetric(choices, root))
    return tuple(found)


def best_oracle(choices: int, ratio: Fraction, most_bits: int | None = None) -> Oracle:
    """The one with the least variance for rare answers, among reports of up to ``most_bits``.

    Example:
        >>> best_oracle(2, Fraction(2))
        KAry(choices=2, ratio=Fraction(2, 1))
        >>> best_oracle(1000, Fraction(2), most_bits=12)
        Hadamard(choices=1000, ratio=Fraction(2, 1))
    """
    short = [
        oracle
        for oracle in oracles(choices, ratio)
        if most_bits is None or oracle.bits <= most_bits
    ]
    if not short:
        least = min(oracle.bits for oracle in oracles(choices, ratio))
        raise InvalidValue(f"A report takes {least} bits at least, and {most_bits} were given.")
    return min(short, key=lambda oracle: (oracle.odds.variance(), oracle.bits))


def best_mean(steps: int, ratio: Fraction) -> MeanOracle:
    """The one with the least variance for the worst of all numbers.

    Example:
        >>> best_mean(100, Fraction(2))
        OneBit(steps=100, ratio=Fraction(2, 1))
        >>> best_mean(100, Fraction(20))
        Piecewise(steps=100, reach=12, ratio=Fraction(20, 1))
    """
    made: tuple[MeanOracle, ...] = (OneBit(steps, ratio), Piecewise.best(steps, ratio))
    return min(made, key=lambda oracle: oracle.variance)
