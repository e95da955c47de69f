"""What a quote of a server shows."""

from dataclasses import dataclass
from typing import Any

from tacit.core.release import ReleasedColumn
from tacit.core.standing import Standing
from tacit.core.stored_standing import decode
from tacit.errors import InvalidValue
from tacit.numeric.exact import exact
from tacit.query.expected import Expected
from tacit.render.html import html
from tacit.render.text import text


@dataclass(frozen=True, slots=True, repr=False)
class RemotePreview:
    """A quote as it is shown: free, and the same whatever stands in the tables."""

    columns: tuple[ReleasedColumn, ...]
    notes: tuple[str, ...]
    errors: tuple[Expected, ...]
    advice: tuple[str, ...]
    standing: Standing

    @classmethod
    def of(cls, told: dict[str, Any]) -> "RemotePreview":
        """The quote that a server told."""
        try:
            columns = [ReleasedColumn(name, tuple(v)) for name, v in told["columns"].items()]
            errors = [
                Expected(
                    each["name"],
                    None if each["always"] is None else exact(each["always"]),
                    tuple((size, exact(error)) for size, error in each["by_size"]),
                )
                for each in told["errors"]
            ]
            notes, advice = tuple(told["notes"]), tuple(told["advice"])
            return cls(tuple(columns), notes, tuple(errors), advice, decode(told["standing"]))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidValue("What the server told is no quote.") from error

    def __repr__(self) -> str:
        return "\n".join((text(self.columns), "", *self.notes))

    def _repr_html_(self) -> str:
        return html(self.columns, self.notes)
