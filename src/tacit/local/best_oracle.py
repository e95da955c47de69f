"""Choice of the randomiser with the smallest variance, for shares and for means."""

from fractions import Fraction

from tacit.errors import InvalidValue
from tacit.local.frequency_oracles import Hadamard, Hashing, KAry, Subset, Unary
from tacit.local.mean_oracles import OneBit, Piecewise
from tacit.local.oracle import STEP, MeanOracle, Oracle
from tacit.numeric import floor_to, sqrt_bounds


def oracles(choices: int, ratio: Fraction) -> tuple[Oracle, ...]:
    """Return all frequency oracles for ``choices`` answers, with their best parameters.

    The ratio of each is at most ``ratio``.
    """
    found: list[Oracle] = [
        KAry(choices, ratio),
        Subset.best(choices, ratio),
        Unary.optimal(choices, ratio),
        Hashing.best(choices, ratio),
        Hadamard(choices, ratio),
    ]
    root = floor_to(sqrt_bounds(ratio)[0], STEP)
    if root > 1:
        found.append(Unary.symmetric(choices, root))
    return tuple(found)


def best_oracle(choices: int, ratio: Fraction, most_bits: int | None = None) -> Oracle:
    """Return the oracle with the smallest variance for rare answers.

    Only oracles with reports of at most ``most_bits`` bits are considered.

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
        raise InvalidValue(
            f"A report needs at least {least} bits, but only {most_bits} are allowed; allow "
            "more bits."
        )
    return min(short, key=lambda oracle: (oracle.odds.variance(), oracle.bits))


def best_mean(steps: int, ratio: Fraction) -> MeanOracle:
    """Return the mean oracle with the smallest worst-case variance.

    Example:
        >>> best_mean(100, Fraction(2))
        OneBit(steps=100, ratio=Fraction(2, 1))
        >>> best_mean(100, Fraction(20))
        Piecewise(steps=100, reach=12, ratio=Fraction(20, 1))
    """
    made: tuple[MeanOracle, ...] = (OneBit(steps, ratio), Piecewise.best(steps, ratio))
    return min(made, key=lambda oracle: oracle.variance)
