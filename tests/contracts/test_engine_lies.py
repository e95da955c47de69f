"""An engine over files of text, with one lie each: the contract finds it in a sentence."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loaded_file import load_file

from tacit.core import Bounds, Catalog, Secret
from tacit.core.unseal import unseal
from tacit.engines.reference import Reference, Tables
from tacit.errors import EngineUnreachable, InternalError, InvalidValue
from tacit.testing.engine_contract import EngineContract

PAGE = Path(__file__).parents[2] / "examples/plugins/tacit-toy-engine/tacit_toy_engine"
TOY = load_file(PAGE / "__init__.py", "toy_engine_of_contract")
Lines: Any = TOY.Lines
NUMBERS = count()
ONE_OF = 6


def contract_of(made: Callable[[str], Any], folder: Path) -> EngineContract:
    def over(catalog: Catalog, tables: Tables) -> Any:
        for table in catalog.tables:
            kinds = {column.name: column.kind.value for column in table.schema.columns}
            cells = [
                [None if row[name] is None else str(row[name]) for name in table.schema.names]
                for row in tables[table.location.table]
            ]
            text = "".join(f"{json.dumps(line)}\n" for line in [kinds, *cells])
            (folder / f"{table.location.table[-1]}.lines").write_text(text)
        return made(str(folder))

    return EngineContract(over, one_of=ONE_OF)


def test_the_honest_engine_keeps_its_contract(tmp_path: Path) -> None:
    assert contract_of(Lines, tmp_path).violations() == []


class PlainFails(Lines):  # type: ignore[misc]
    def plain(self, catalog: Catalog) -> Any:
        raise RuntimeError(catalog)


class PlainIsText(Lines):  # type: ignore[misc]
    def plain(self, catalog: Catalog) -> Any:
        del catalog
        return "one sentence"


class NewIdentities(Lines):  # type: ignore[misc]
    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self._number = next(NUMBERS)

    def identities(self, table: tuple[str, ...]) -> Any:
        return (f"{self._number} {table}",)


class OneIdentity(Lines):  # type: ignore[misc]
    def identities(self, table: tuple[str, ...]) -> Any:
        del table
        return ("the folder",)


class NumberedIdentities(Lines):  # type: ignore[misc]
    def identities(self, table: tuple[str, ...]) -> Any:
        return (len(table),)


class ChecksNames(Lines):  # type: ignore[misc]
    """It compares the names of columns, and not their kinds."""

    def check(self, catalog: Catalog) -> None:
        for table in catalog.tables:
            if set(table.schema.names) - {
                column.name for column in self.columns(table.location.table)
            }:
                super().check(catalog)


class ChecksKinds(Lines):  # type: ignore[misc]
    """It compares the kinds of the columns that are there."""

    def check(self, catalog: Catalog) -> None:
        for table in catalog.tables:
            found = {column.name: column.kind for column in self.columns(table.location.table)}
            for column in table.schema.columns:
                if found.get(column.name, column.kind) is not column.kind:
                    raise InvalidValue(column.name)


class ChecksRows(Lines):  # type: ignore[misc]
    def check(self, catalog: Catalog) -> None:
        super().check(catalog)
        for table in catalog.tables:
            self._rows(table.location.table)


class FirstSalt(Lines):  # type: ignore[misc]
    _salt: bytes | None = None

    def run(self, plan: Any, catalog: Catalog, salt: bytes) -> Any:
        self._salt = self._salt or salt
        return super().run(plan, catalog, self._salt)


class ConstantSalt(Lines):  # type: ignore[misc]
    def run(self, plan: Any, catalog: Catalog, salt: bytes) -> Any:
        del salt
        return super().run(plan, catalog, b"salt")


class ConstantSaltOfRows(Lines):  # type: ignore[misc]
    def rows(self, plan: Any, catalog: Catalog, salt: bytes) -> Any:
        del salt
        return super().rows(plan, catalog, b"salt")


class Floats(Lines):  # type: ignore[misc]
    def run(self, plan: Any, catalog: Catalog, salt: bytes) -> Any:
        found = super().run(plan, catalog, salt)
        small = [unseal(each) for each in found.tallies]
        if not all(each.dtype == np.int64 and (abs(each) < 2**50).all() for each in small):
            return found
        return replace(found, tallies=tuple(Secret(each.astype(float)) for each in small))


class TellsCells(Lines):  # type: ignore[misc]
    def run(self, plan: Any, catalog: Catalog, salt: bytes) -> Any:
        try:
            return self._reference(plan, catalog).run(plan, catalog, salt)
        except ValueError as error:
            raise InternalError(str(error)) from error
        except Exception as error:
            raise InternalError("The engine failed.") from error


class HintsAtCells(Lines):  # type: ignore[misc]
    """Its text depends on the cell without repeating it."""

    def rows(self, plan: Any, catalog: Catalog, salt: bytes) -> Any:
        try:
            return self._reference(plan, catalog).rows(plan, catalog, salt)
        except Exception as error:
            raise InternalError(f"The engine failed: {'ann' in str(error)}.") from error


class Outage(Lines):  # type: ignore[misc]
    def run(self, plan: Any, catalog: Catalog, salt: bytes) -> Any:
        try:
            return super().run(plan, catalog, salt)
        except InternalError as error:
            raise EngineUnreachable("Try again.") from error


class RawRows(Lines):  # type: ignore[misc]
    def rows(self, plan: Any, catalog: Catalog, salt: bytes) -> Any:
        return self._reference(plan, catalog).rows(plan, catalog, salt)


class RowsOfNothing(Lines):  # type: ignore[misc]
    def rows(self, plan: Any, catalog: Catalog, salt: bytes) -> Any:
        try:
            return super().rows(plan, catalog, salt)
        except InternalError:
            empty = {table.location.table: [] for table in catalog.tables}
            return Reference(dict(empty)).rows(plan, catalog, salt)


class TwiceListed(Lines):  # type: ignore[misc]
    def tables(self) -> Any:
        return 2 * super().tables()


class Invented(Lines):  # type: ignore[misc]
    def tables(self) -> Any:
        return (*super().tables(), ("a table of nobody",))


class CoarseStep(Lines):  # type: ignore[misc]
    def columns(self, table: tuple[str, ...]) -> Any:
        return tuple(
            replace(each, step=Fraction(1, 10)) if each.step else each
            for each in super().columns(table)
        )


class FoundBounds(Lines):  # type: ignore[misc]
    """It takes the bounds of a column from its rows."""

    def columns(self, table: tuple[str, ...]) -> Any:
        return tuple(
            replace(each, bounds=Bounds.of(0, 9)) if each.name == "age" else each
            for each in super().columns(table)
        )


class ChecksByFailing(Lines):  # type: ignore[misc]
    """It fails with another error where it should refuse."""

    def columns(self, table: tuple[str, ...]) -> Any:
        self._file(table).stat()
        return super().columns(table)


class RehearsesRows(Lines):  # type: ignore[misc]
    """It reads the table to find out whether it can."""

    def rehearse(self, plan: Any, catalog: Catalog, salt: bytes, *, rows: bool = False) -> None:
        del rows
        self.run(plan, catalog, salt)


class RehearsesNothing(Lines):  # type: ignore[misc]
    def rehearse(self, plan: Any, catalog: Catalog, salt: bytes, *, rows: bool = False) -> None:
        del plan, catalog, salt
        if rows:
            raise InvalidValue("No rows.")


@pytest.mark.parametrize(
    ("lie", "found"),
    [
        (RehearsesRows, "The engine's rehearse reads rows: it fails by a cell of a row."),
        (RehearsesNothing, "The engine's rehearse raises InvalidValue: No rows."),
        (PlainFails, "The engine's plain raises RuntimeError"),
        (PlainIsText, "The engine's plain has a value of another type"),
        (NewIdentities, "does not identify the physical table visits"),
        (OneIdentity, "The tables labs and visits have an identity in common."),
        (NumberedIdentities, "The engine's identities has a value of another type"),
        (ChecksNames, "The engine accepts a column of kind boolean as integer."),
        (ChecksKinds, "The engine accepts a column that does not exist."),
        (ChecksRows, "The engine's check reads rows: it fails by a cell of a row."),
        (FirstSalt, "This was found with a second salt."),
        (ConstantSalt, "This was found with a second salt."),
        (ConstantSaltOfRows, "returns other rows for a fit than the reference."),
        (Floats, "The engine returns numbers that are not integers"),
        (TellsCells, "repeats the text of the database in an error. It is raised by run"),
        (HintsAtCells, "The text of a failure of the engine's rows depends on a cell"),
        (Outage, "The engine's run takes a cell that cannot be read for an outage."),
        (RawRows, "raises an error that is not Tacit's: InvalidValue. It is raised by rows."),
        (RowsOfNothing, "The engine's rows answers about a table that does not exist."),
        (TwiceListed, "The engine lists a table twice."),
        (Invented, "The engine lists a table that it cannot describe."),
        (CoarseStep, "The engine describes visits.cost differently"),
        (FoundBounds, "The engine describes visits.age differently"),
        (ChecksByFailing, "The check wrong_descriptions cannot be finished: it raises File"),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
def test_an_engine_with_one_lie_is_found(lie: Any, found: str, tmp_path: Path) -> None:
    sentences = contract_of(lie, tmp_path).violations()
    assert any(found in each for each in sentences), sentences
