"""The columns of a private table."""

from dataclasses import dataclass

from tacit.core.column import Column
from tacit.errors import InvalidValue, UnknownName


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns in order, each with its own name.

    Example:
        >>> from tacit.core.column import Kind
        >>> Schema((Column("age", Kind.INTEGER),))["age"].kind.value
        'integer'
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.columns):
            raise InvalidValue(
                f"Columns have distinct names; these are {', '.join(self.names)}."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise UnknownName(f"There is no column {name!r}; there are {', '.join(self.names)}.")
