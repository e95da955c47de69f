"""Example questions about a table, which can be answered under its declarations.

They are made from the catalogue alone, and each is quoted before it is shown, so that a person
who sees a table for the first time has questions that work.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tacit.core import Catalog, Column, Dataset, Kind
from tacit.errors import TacitError
from tacit.session.question import Question
from tacit.session.session import Session

MOST_EXAMPLES, MOST_KNOWN = 3, 500
"""The most examples of a table, and the most tables whose examples are remembered."""

NUMBERS = {Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT}
DAYS = {Kind.DATE, Kind.TIMESTAMP}


@dataclass(frozen=True, slots=True)
class Example:
    """A question in SQL, and a sentence that says what it asks."""

    sql: str
    sentence: str


def examples_of(session: Session, dataset: str) -> tuple[Example, ...]:
    """Return up to three questions about a dataset that can be asked; free, without data.

    Guarantee: each of them was quoted with a tenth of the budget, and not refused.
    """
    found: list[Example] = []
    for example in _candidates(session.catalog.dataset(dataset), session):
        if _can_be_asked(session, example):
            found.append(example)
        if len(found) == MOST_EXAMPLES:
            break
    return tuple(found)


class KnownExamples:
    """The examples of tables that were looked at, so that they are not quoted for each page.

    They follow from the catalogue, so that those of another declaration are others. The oldest
    are forgotten first.
    """

    def __init__(self, most: int = MOST_KNOWN) -> None:
        self._most = most
        self._found: dict[tuple[Catalog, str], tuple[Example, ...]] = {}

    def of(self, session: Session, dataset: str) -> tuple[Example, ...]:
        """Return the examples of a dataset, as `examples_of` does."""
        key = (session.catalog, dataset)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = examples_of(session, dataset)
            while len(self._found) > self._most:
                self._found.pop(next(iter(self._found)), None)
        return found


def _can_be_asked(session: Session, example: Example) -> bool:
    try:
        question = session.sql(example.sql)
        if not isinstance(question, Question):
            return False
        question.quote()
    except TacitError:
        return False
    return True


def _candidates(table: Dataset, session: Session) -> Iterator[Example]:
    """Yield questions from the most telling to the plainest."""
    link = table.unit.column
    columns = [each for each in table.schema.columns if each.name != link]
    numbers = [each for each in columns if _is_number(each) and each.bounds is not None]
    named = [each for each in columns if each.keys is not None and not _is_number(each)]
    dated = [each for each in columns if each.kind in DAYS and each.bounds is not None]
    yield from _by_key(table, named[:1])
    yield from _averages(table, numbers[:1])
    yield from _by_month(table, dated[:1])
    unit = session.catalog.population(table.population).unit.name
    people = "people" if unit == "person" else f"{unit}s"
    yield Example(
        _select(table, f"COUNT(DISTINCT {quote_name(link)}) AS n"),
        f"How many {people} have rows in {table.name}.",
    )
    yield Example(_select(table, "COUNT(*) AS n"), f"How many rows {table.name} has.")
    yield from _sums(table, numbers)
    yield from _counts_of_values(table, columns)


def _by_key(table: Dataset, columns: Sequence[Column]) -> Iterator[Example]:
    for column in columns:
        name = quote_name(column.name)
        yield Example(
            _select(table, f"{name}, COUNT(*) AS n", name),
            f"How many rows of {table.name} there are for each {column.name}.",
        )


def _averages(table: Dataset, columns: Sequence[Column]) -> Iterator[Example]:
    for column in columns:
        yield Example(
            _select(table, f"AVG({quote_name(column.name)}) AS average"),
            f"The average {column.name} over all rows of {table.name}.",
        )


def _by_month(table: Dataset, columns: Sequence[Column]) -> Iterator[Example]:
    for column in columns:
        month = f"DATE_TRUNC('month', {quote_name(column.name)})"
        yield Example(
            _select(table, f"{month} AS month, COUNT(*) AS n", month),
            f"How many rows of {table.name} there are in each month of {column.name}.",
        )


def _sums(table: Dataset, columns: Sequence[Column]) -> Iterator[Example]:
    for column in columns:
        name = quote_name(column.name)
        yield Example(
            _select(table, f"SUM({name}) AS total"),
            f"The sum of {column.name} over all rows of {table.name}.",
        )
        yield Example(
            _select(table, f"MEDIAN({name}) AS middle"),
            f"The median {column.name} over all rows of {table.name}.",
        )


def _counts_of_values(table: Dataset, columns: Sequence[Column]) -> Iterator[Example]:
    for column in columns:
        yield Example(
            _select(table, f"COUNT({quote_name(column.name)}) AS n"),
            f"In how many rows of {table.name} {column.name} is known.",
        )


def _select(table: Dataset, columns: str, group: str = "") -> str:
    """Return a statement for our parser; no engine receives it."""
    statement = f"SELECT {columns} FROM {quote_name(table.name)}"  # noqa: S608 - for our parser
    return f"{statement} GROUP BY {group}" if group else statement


def _is_number(column: Column) -> bool:
    return column.kind in NUMBERS


def quote_name(name: str) -> str:
    """Return a name as SQL: always in quotation marks, because any word may be reserved.

    Example:
        >>> print(quote_name("ward"), quote_name('a "b'))
        "ward" "a ""b"
    """
    return '"' + name.replace('"', '""') + '"'
