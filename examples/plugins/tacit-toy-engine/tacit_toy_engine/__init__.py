"""An engine over a folder of text files: one table a file, one row a line of JSON.

The first line of ``visits.lines`` names the columns and their kinds, such as
``{"person": "text", "age": "integer"}``. Each line after it is a list of cells, each a text or
null. It is a toy: every question reads the whole file, and Python adds up.
"""

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from tacit.core import Catalog, Column, Kind, Secret
from tacit.engines import EngineSpec, OpenRequest, SecretTable, UnitRows, file_identities
from tacit.engines.reference import Cell, Reference, Row
from tacit.errors import InternalError, InvalidValue
from tacit.plan import BoundedPlan
from tacit.project import PATH, AddressRule

READ: dict[Kind, Callable[[str], Cell]] = {
    Kind.BOOLEAN: lambda text: text == "True",
    Kind.INTEGER: int,
    Kind.DECIMAL: Decimal,
    Kind.FLOAT: float,
    Kind.TEXT: str,
    Kind.DATE: date.fromisoformat,
    Kind.TIMESTAMP: datetime.fromisoformat,
}
"""How the text of a cell is read, by its kind; `check` refuses a kind that is not here."""


class Lines:
    """The tables in a folder; nothing stays open between two questions."""

    dialect = None  # it prints no SQL

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def check(self, catalog: Catalog) -> None:
        """Refuse a catalogue whose tables are not there, or of other kinds; no row is read."""
        for table in catalog.tables:
            found = {column.name: column.kind for column in self.columns(table.location.table)}
            for column in table.schema.columns:
                if found.get(column.name) is not column.kind:
                    raise InvalidValue(
                        f"{table.name}.{column.name} is not {column.kind.value} in its file."
                    )

    def plain(self, catalog: Catalog) -> tuple[str, ...]:
        """Say why tables may not be served in place: a file can be changed at any time."""
        return tuple(f"{table.name} is a file of text." for table in catalog.tables)

    def tables(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of all tables."""
        return tuple((path.stem,) for path in sorted(self._folder.glob("*.lines")))

    def columns(self, table: tuple[str, ...]) -> tuple[Column, ...]:
        """Return the columns of a table, by its first line alone."""
        try:
            with self._file(table).open(encoding="utf-8") as lines:
                kinds = json.loads(lines.readline())
        except (OSError, ValueError) as error:
            raise InvalidValue(f"There is no table {'.'.join(table)!r} here.") from error
        steps = {Kind.DECIMAL: Fraction(1, 100)}
        named = {name: Kind(kind) for name, kind in kinds.items()}
        return tuple(Column(name, kind, step=steps.get(kind)) for name, kind in named.items())

    def identities(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Return which file a table is, so that one file has one budget."""
        return file_identities(self._file(table))

    def close(self) -> None:
        """Let go of nothing; a second time too."""

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """Return the secret answer; a failure has one text, whatever the file holds."""
        try:
            return self._reference(plan, catalog).run(plan, catalog, salt)
        except Exception as error:
            raise InternalError("The engine failed.") from error

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """Return the secret rows, for models that no sum can fit."""
        try:
            return self._reference(plan, catalog).rows(plan, catalog, salt)
        except Exception as error:
            raise InternalError("The engine failed.") from error

    def _reference(self, plan: BoundedPlan, catalog: Catalog) -> Reference:
        """Return the tables of a question in memory, with the meaning of all engines."""
        places = {catalog.table(name).location.table for name in plan.source.datasets}
        return Reference({place: self._rows(place) for place in places})

    def _rows(self, table: tuple[str, ...]) -> list[Row]:
        columns = self.columns(table)
        _, *lines = self._file(table).read_text(encoding="utf-8").splitlines()
        return [
            {
                column.name: None if cell is None else READ[column.kind](cell)
                for column, cell in zip(columns, json.loads(line), strict=True)
            }
            for line in lines
        ]

    def _file(self, table: tuple[str, ...]) -> Path:
        return self._folder / f"{table[-1]}.lines"


def open_lines(request: OpenRequest) -> Lines:
    """Open the folder of a project."""
    return Lines(request.address)


LINES = EngineSpec("lines", AddressRule("lines", PATH), open_lines)
