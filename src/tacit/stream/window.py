"""What is shown at a step: that step alone, the last few together, or all so far."""

from dataclasses import dataclass

from tacit.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class Window:
    """The last ``steps`` steps together; None is all of them from the first on.

    Example:
        >>> print(Window(1), Window(4), Window(None), sep=", ")
        each step by itself, the last 4 steps together, all steps so far
    """

    steps: int | None = 1

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps < 1:
            raise InvalidValue(f"A window has 1 step or more, and {self.steps} were given.")

    def __str__(self) -> str:
        match self.steps:
            case None:
                return "all steps so far"
            case 1:
                return "each step by itself"
        return f"the last {self.steps} steps together"


EACH, ALL = Window(1), Window(None)
