"""Sensitivities, with proofs that an auditor can follow.

A `Sensitivity` bounds the change of an output by one unit. Its proof is a tree of named rules.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Self

from tacit.errors import InvalidValue
from tacit.numeric import Number, exact, sqrt_bounds


@dataclass(frozen=True, slots=True)
class Rule:
    """One step of a proof: a rule, the public facts that it uses, and the steps before it.

    Example:
        >>> count = Rule("a row changes a count by 1")
        >>> print(Rule("a unit has at most max_rows rows", ("max_rows=3",), (count,)))
        a unit has at most max_rows rows [max_rows=3]
          a row changes a count by 1
    """

    name: str
    facts: tuple[str, ...] = ()
    because: tuple["Rule", ...] = ()

    def __str__(self) -> str:
        head = f"{self.name} [{', '.join(self.facts)}]" if self.facts else self.name
        below = "\n".join(str(rule) for rule in self.because)
        return "\n".join([head, *(f"  {line}" for line in below.splitlines())])


# ------------------------------------------------------------------ sensitivity


class Norm(Enum):
    """The norm in which the difference of two outputs is measured."""

    L1 = "the sum of absolute differences"
    L2 = "the root of the sum of squared differences"
    LINF = "the greatest absolute difference"


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The largest change of an output by one unit: its square, its norm and its proof.

    The square is stored because an L2 sensitivity is often the square root of an integer, and
    the loss of Gaussian noise depends on the square. All operations round up.

    Example:
        >>> groups = Sensitivity.of(2, Norm.L2, Rule("a unit moves a group by at most 2"))
        >>> both = groups.beside(groups, Rule("a unit touches at most 2 groups"))
        >>> both.square, both.amount > Fraction("2.828")
        (Fraction(8, 1), True)
        >>> print(both.proof)
        a unit touches at most 2 groups
          a unit moves a group by at most 2
          a unit moves a group by at most 2
    """

    square: Fraction
    norm: Norm
    proof: Rule

    def __post_init__(self) -> None:
        if self.square < 0:
            raise InvalidValue(
                f"The square of a sensitivity must be at least 0, but {self.square} was given."
            )

    @classmethod
    def of(cls, amount: Number, norm: Norm, proof: Rule) -> Self:
        """Return a sensitivity from a plain amount."""
        number = exact(amount)
        if number < 0:
            raise InvalidValue(f"A sensitivity must be at least 0, but {number} was given.")
        return cls(number**2, norm, proof)

    @property
    def amount(self) -> Fraction:
        """The sensitivity itself, rounded up to a fraction if the square root is irrational."""
        return sqrt_bounds(self.square)[1]

    def in_norm(self, norm: Norm) -> "Sensitivity":
        """Return this sensitivity, and raise if it is not in ``norm``."""
        if self.norm is not norm:
            raise InvalidValue(
                f"A sensitivity in {norm.name} is needed ({norm.value}), "
                f"but one in {self.norm.name} was given."
            )
        return self

    def times(self, factor: Fraction, rule: Rule) -> "Sensitivity":
        """Return the sensitivity of the output multiplied by ``factor``."""
        return Sensitivity(self.square * factor**2, self.norm, _because(rule, self))

    def plus(self, other: "Sensitivity", rule: Rule) -> "Sensitivity":
        """Return the sensitivity of the sum of two outputs, by the triangle inequality."""
        self._same_norm(other)
        return Sensitivity(
            (self.amount + other.amount) ** 2, self.norm, _because(rule, self, other)
        )

    def beside(self, other: "Sensitivity", rule: Rule) -> "Sensitivity":
        """Return the sensitivity of two concatenated outputs, where a unit can change both."""
        self._same_norm(other)
        square = {
            Norm.L1: (self.amount + other.amount) ** 2,
            Norm.L2: self.square + other.square,
            Norm.LINF: max(self.square, other.square),
        }[self.norm]
        return Sensitivity(square, self.norm, _because(rule, self, other))

    def _same_norm(self, other: "Sensitivity") -> None:
        if self.norm is not other.norm:
            raise InvalidValue(
                "Only sensitivities of the same norm can be combined, but these are in "
                f"{self.norm.name} and {other.norm.name}."
            )


def _because(rule: Rule, *parts: Sensitivity) -> Rule:
    """Return ``rule`` with the proofs of ``parts`` added to its premises."""
    return Rule(rule.name, rule.facts, rule.because + tuple(part.proof for part in parts))
