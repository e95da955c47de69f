"""What is done with released values: free, since it looks at nothing else."""

from dataclasses import dataclass

from tacit.errors import InvalidValue
from tacit.plan.expression import Expression, Field


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer: its name, and how it is computed from released columns."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class OrderBy:
    """An order of the answer's rows."""

    expression: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class Post:
    """The columns shown, which groups of them, in which order, and how many.

    Fields name keys and measures of the plan. Whatever is not ordered is in the order of the
    keys.
    """

    outputs: tuple[Output, ...]
    having: Expression | None = None
    order: tuple[OrderBy, ...] = ()
    limit: int | None = None

    def __post_init__(self) -> None:
        names = [output.name for output in self.outputs]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidValue(
                f"Columns of an answer have distinct names, and two are called {twice[0]!r}; "
                "name one with AS."
            )

    @classmethod
    def showing(cls, *names: str) -> "Post":
        """The columns ``names`` as they were released."""
        return cls(tuple(Output(name, Field(name)) for name in names))
