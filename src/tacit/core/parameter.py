"""What a fitted model is made of: named numbers with a shape, and how a release holds them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isfinite, prod
from typing import Any

from tacit.core.release import Release, ReleasedColumn
from tacit.errors import InvalidValue

NAME, PLACE, VALUE = "parameter", "place", "value"
"""The columns of a release that holds parameters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """Public numbers under the name that the model keeps them by, row by row.

    Example:
        >>> Parameter.of("coef_", [[0.5, 2], [0, 1]])
        Parameter(name='coef_', shape=(2, 2), values=(Fraction(1, 2), 2, 0, 1))
        >>> Parameter.of("intercept_", 0.25).nested
        0.25
    """

    name: str
    shape: tuple[int, ...]
    values: tuple[Fraction | int, ...]

    def __post_init__(self) -> None:
        if len(self.values) != prod(self.shape):
            raise InvalidValue(
                f"{self.name!r} has {len(self.values)} numbers, and its shape {self.shape} "
                f"holds {prod(self.shape)}."
            )

    @classmethod
    def of(cls, name: str, numbers: Any) -> "Parameter":
        """The parameter that holds ``numbers``: one, or nested sequences of equal lengths."""
        shape: list[int] = []
        level, values = numbers, [numbers]
        while isinstance(level, Sequence):
            shape.append(len(level))
            values = [part for each in values for part in each]
            level = level[0] if len(level) else None
        return cls(name, tuple(shape), tuple(map(_number, values)))

    @property
    def nested(self) -> Any:
        """The numbers as they were given: integers, and the nearest floats."""
        flat: list[Any] = [v if isinstance(v, int) else float(v) for v in self.values]
        for size in reversed(self.shape[1:]):
            flat = [flat[at : at + size] for at in range(0, len(flat), size)]
        return flat if self.shape else flat[0]


def columns_of(parameters: Iterable[Parameter]) -> tuple[ReleasedColumn, ...]:
    """The columns of a release that holds ``parameters``, a row for each number."""
    rows = [
        (each.name, ",".join(map(str, place)), value)
        for each in parameters
        for place, value in zip(product(*map(range, each.shape)), each.values, strict=True)
    ]
    names, places, values = zip(*rows, strict=True) if rows else ((), (), ())
    return (
        ReleasedColumn(NAME, names),
        ReleasedColumn(PLACE, places),
        ReleasedColumn(VALUE, values),
    )


def parameters_in(release: Release) -> tuple[Parameter, ...]:
    """The parameters that ``release`` holds.

    Guarantee: those of which `columns_of` made its columns, but for parameters without numbers.
    """
    found: dict[str, list[tuple[tuple[int, ...], Any]]] = {}
    rows = zip(*(release[name].values for name in (NAME, PLACE, VALUE)), strict=True)
    for name, place, value in rows:
        at = tuple(map(int, str(place).split(","))) if place else ()
        found.setdefault(str(name), []).append((at, value))
    return tuple(
        Parameter(name, tuple(1 + end for end in cells[-1][0]), tuple(v for _, v in cells))
        for name, cells in found.items()
    )


def _number(value: Any) -> Fraction | int:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and not isfinite(value):
        raise InvalidValue("A parameter is a finite number.")
    return Fraction(value)
