"""Attacks on an owner's own tables and planned questions, before they are published."""

import re
from collections.abc import Iterator, Mapping, Sequence
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
from tacit.attacks.membership import Game, findings, is_there, play
from tacit.attacks.report import AttackedItem, side_by_side
from tacit.attacks.secret_values import SecretValues
from tacit.core import Catalog, Dataset, Kind, Loss, UnitColumn
from tacit.engines import CheckedEngine, RowsRequest, path_in
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
        dataset = self._dataset(name)
        rows = self._rows(dataset, [*facts, secret])
        if not rows:
            raise InvalidValue(
                f"{name!r} has no row of a person, so that there is nothing to attack. Check "
                "that the project file names the right table."
            )
        columns = [np.array(column) for column in zip(*rows, strict=True)][1:]
        *known, hidden = columns
        found = rows_without_names(known, hidden)
        values = SecretValues.of(hidden, dataset.schema[secret].kind)
        found.append(cells_through_tacit(known, values, self.epsilon, self.delta))
        found += counts_of_groups(values, self.epsilon, self.delta)
        title = f"{name}: {', '.join(facts)} and the secret {secret}"
        return AttackedItem(title, side_by_side(found), population=dataset.population)

    def attack_questions(
        self, texts: Sequence[str], people: Sequence[str], count: int
    ) -> Iterator[AttackedItem]:
        """Attack each planned question, and then all of them together."""
        project = read_project(self.file)
        catalog = project.catalog
        loss, share = self._losses(len(texts))
        together: list[Game] = []
        units: set[str] = set()
        named = ""
        with ExitStack() as closing:
            engines = open_engines(project, self.file.parent, closing)
            for text in texts:
                plan = parse(text, catalog)
                quote, whole = (price(plan, catalog, part) for part in (share, loss))
                source = quote.bound.plan.source
                engine = engines[catalog.table(source.dataset).location.engine]
                chosen = self._people(project, source.unit, people, count)
                if people:
                    self._check_there(chosen, source.unit, catalog, engines)
                games = [play(quote, whole, engine, catalog, each) for each in chosen]
                both = zip(together, games, strict=False)  # combine games of the same person
                together = [one.beside(two) for one, two in both] if together else games
                units.add(source.unit)
                named = catalog.dataset(source.dataset).population
                yield AttackedItem(text, self._findings(games), population=named)
        if len(texts) > 1 and len(units) == 1:  # the same people in all of them
            title = f"All {len(texts)} questions together"
            yield AttackedItem(title, self._findings(together), population=named)

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
        if not chosen:
            raise InvalidValue(
                f"{table!r} has no row of a person, so that there is nobody to attack. Check "
                "that the project file names the right table."
            )
        if dataset.schema[column].kind is not Kind.INTEGER:
            return list(chosen)
        wrong = [each for each in chosen if not re.fullmatch(r"-?[0-9]{1,18}", each)]
        if wrong:
            raise InvalidValue(
                f"{unit} names people by integers, but --person {wrong[0]!r} was given. Use a "
                "number of that column, such as --person 7."
            )
        return [int(each) for each in chosen]

    def _check_there(
        self,
        people: Sequence[Value],
        unit: str,
        catalog: Catalog,
        engines: Mapping[str, CheckedEngine],
    ) -> None:
        """Refuse a named person who has no row in the table that names the people."""
        table = unit.partition(".")[0]
        quoted = table.replace('"', '""')
        text = f'SELECT COUNT(*) AS n FROM "{quoted}"'  # noqa: S608 - our own catalogue
        plan = parse(text, catalog)
        quote = price(plan, catalog, self._losses(1)[0])
        engine = engines[catalog.table(table).location.engine]
        for person in people:
            if not is_there(quote, engine, catalog, person):
                raise InvalidValue(
                    f"Nobody in {unit} is {person!r}, so that there is nobody to attack. Check "
                    "how the person is spelled, or leave out --person to attack a few people."
                )

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
