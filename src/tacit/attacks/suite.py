"""Attacks on an owner's own tables and planned questions, before they are published."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.accounting import KEYS_PART
from tacit.attacks.attack_table import (
    cells_through_tacit,
    counts_of_groups,
    largest_success,
    loss_within,
    rows_without_names,
)
from tacit.attacks.finding import Finding
from tacit.attacks.membership import Game, findings, play
from tacit.attacks.report import AttackedItem, side_by_side
from tacit.core import Dataset, Kind, Loss, UnitColumn
from tacit.engines import RowsRequest, path_in
from tacit.errors import InvalidValue
from tacit.numeric import Number, exact
from tacit.plan import Value
from tacit.project import Project
from tacit.query import price
from tacit.session import open_engines, read_project, spec_of
from tacit.sql import parse

MOST_EPSILON = 500
"""Maximum epsilon: a larger one allows every attack, and its power of e is too large."""

MOST_PEOPLE = 50_000
"""Maximum number of people whose rows are attacked."""


@dataclass(frozen=True, slots=True)
class AttackSuite:
    """The project of an owner, and the privacy loss that the owner plans to state.

    Guarantee: nothing is charged and nothing is written, because nothing is released. The
    findings are not private.
    """

    file: Path
    epsilon: Number
    delta: Number

    def __post_init__(self) -> None:
        if not 0 < exact(self.epsilon) <= MOST_EPSILON:
            raise InvalidValue(
                f"epsilon must be above 0 and at most {MOST_EPSILON}, but {self.epsilon} was "
                "given. Use the privacy loss that you plan to state, such as 1."
            )
        if not 0 <= exact(self.delta) < 1:
            raise InvalidValue(
                f"delta must be at least 0 and below 1, but {self.delta} was given. Use a "
                "small delta, such as 1e-6."
            )

    def attack_table(self, name: str, facts: Sequence[str], secret: str) -> AttackedItem:
        """Attack rows of public facts and one secret, and noisy counts of the same rows."""
        rows = self._rows(self._dataset(name), [*facts, secret])
        columns = [np.array(column) for column in zip(*rows, strict=True)][1:]
        *known, hidden = columns
        found = rows_without_names(known, hidden)
        found.append(cells_through_tacit(known, hidden, self.epsilon, self.delta))
        found += counts_of_groups(hidden, self.epsilon, self.delta)
        title = f"{name}: {', '.join(facts)} and the secret {secret}"
        return AttackedItem(title, side_by_side(found))

    def attack_questions(
        self, texts: Sequence[str], people: Sequence[str], count: int
    ) -> Iterator[AttackedItem]:
        """Attack each planned question, and then all of them together."""
        project = read_project(self.file)
        catalog = project.catalog
        loss, share = self._losses(len(texts))
        together: list[Game] = []
        units: set[str] = set()
        with ExitStack() as closing:
            engines = open_engines(project, self.file.parent, closing)
            for text in texts:
                plan = parse(text, catalog)
                quote, whole = (price(plan, catalog, part) for part in (share, loss))
                source = quote.bound.plan.source
                engine = engines[catalog.table(source.dataset).location.engine]
                chosen = self._people(project, source.unit, people, count)
                games = [play(quote, whole, engine, catalog, each) for each in chosen]
                both = zip(together, games, strict=False)  # combine games of the same person
                together = [one.beside(two) for one, two in both] if together else games
                units.add(source.unit)
                yield AttackedItem(text, self._findings(games))
        if len(texts) > 1 and len(units) == 1:  # the same people in all of them
            yield AttackedItem(f"All {len(texts)} questions together", self._findings(together))

    def _losses(self, parts: int) -> tuple[Loss, Loss]:
        """Return the whole loss and one of ``parts`` equal parts.

        As in a budget, `KEYS_PART` of delta is reserved for key selection.
        """
        keys = exact(self.delta) * KEYS_PART
        loss = loss_within(self.epsilon, exact(self.delta) - keys)
        part = Loss(loss.measure, loss.amount / parts, keys / parts)
        return Loss(loss.measure, loss.amount, keys), part

    def _findings(self, games: list[Game]) -> tuple[Finding, ...]:
        most = largest_success(self.epsilon, self.delta)
        system = f"Tacit, ε = {self.epsilon} in all"
        return tuple(findings("differencing", games, system, most))

    def _people(
        self, project: Project, unit: str, named: Sequence[str], count: int
    ) -> list[Value]:
        """Return the named people, or ``count`` people of the table."""
        table, _, column = unit.partition(".")
        dataset = project.catalog.dataset(table)
        chosen = named or [row[0] for row in self._rows(dataset, [column], count)]
        whole = dataset.schema[column].kind is Kind.INTEGER
        return [int(each) if whole else each for each in chosen]

    def _dataset(self, name: str) -> Dataset:
        return read_project(self.file).catalog.dataset(name)

    def _rows(
        self, dataset: Dataset, columns: Sequence[str], most: int = MOST_PEOPLE
    ) -> list[tuple[str, ...]]:
        """Return one row of each person, from a table with a column of people."""
        if not isinstance(dataset.unit, UnitColumn):
            raise InvalidValue(
                f"{dataset.name!r} has no column that identifies its people. Attack the table "
                "that it links to."
            )
        for column in columns:
            if column not in dataset.schema:
                known = ", ".join(dataset.schema.names)
                raise InvalidValue(
                    f"{dataset.name!r} has no column {column!r}. Its columns are {known}."
                )
        project = read_project(self.file)
        address = project.engine_of(dataset.name)
        spec = spec_of(project, address)
        if spec.unit_rows is None:
            raise InvalidValue(
                "Rows can be read only from DuckDB and Parquet files. For another engine, name "
                "people with --person, and attack questions."
            )
        where = path_in(self.file.parent, spec.address, address.address)
        return spec.unit_rows(
            RowsRequest(where, dataset.location.table, dataset.unit.column, columns, most)
        )
