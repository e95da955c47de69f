"""Neighbours of generated people in generated tables: they show in nothing but noise.

Every triple of a catalogue, two neighbouring databases and a question is made from its number.
`TACIT_TRIPLES` says how many; with `TACIT_CAMPAIGN`, a folder, the figures are kept there, and
another run goes on where the last one stopped. `just replay NUMBER` shows one triple.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from pathlib import Path

import pytest
from conftest import Bar
from engines_over import ENGINES, VERSIONS, Over, reference
from neighbouring import SALT, answer, told_apart
from nodes import COMPUTED, LANGUAGE
from replay_figures import ONE_OF, Figures
from triple import triple

from tacit.core.catalog import Catalog
from tacit.core.unseal import unseal
from tacit.engines.engine import Engine, SecretTable
from tacit.engines.reference import Tables
from tacit.mechanisms.gateway import Gateway
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.tally import RowTally, TotalTally
from tacit.query.quote import Quote
from tacit.sql.printer import show

TRIPLES = int(os.environ.get("TACIT_TRIPLES", "2000"))
CAMPAIGN = os.environ.get("TACIT_CAMPAIGN")
NUMBER = int(os.environ.get("TACIT_TRIPLE", "0"))
PARTS = 4
FOUND_WITHIN = max(TRIPLES, 2000)
"""A lie is looked for among so many triples, however few are tried."""

MANY = 10**9


@pytest.mark.parametrize("part", range(PARTS))
def test_a_neighbour_shows_in_nothing_but_noise(part: int, bar: Bar) -> None:
    path = Path(CAMPAIGN) / f"replay-{part + 1}-of-{PARTS}.json" if CAMPAIGN else None
    figures = Figures(part) if path is None else Figures.load(path, part)
    figures.go_on(TRIPLES, PARTS, path)
    where, wanted = f"part {part + 1} of {PARTS}", TRIPLES // PARTS
    named = f"replay, {where}"
    bar(f"{named}: triples", figures.triples, f">= {wanted}", figures.triples >= wanted)
    for name, count in figures.compared.items():
        shown = f"generated plans with equal integers on {VERSIONS[name]}, {where}"
        equal, least = count - len(figures.unequal), wanted // ONE_OF[name]
        bar(shown, equal, f">= {least}", equal >= least)
    bar(f"{named}: told apart", len(figures.apart), "0", not figures.apart)
    missing = sorted((LANGUAGE | COMPUTED) - figures.nodes.keys())
    bar(f"{named}: nodes never met", ", ".join(missing) or 0, "0", not missing)
    assert not figures.apart, figures.apart[:3]
    assert not figures.unequal, figures.unequal[:3]


def test_a_triple_is_made_by_its_number_alone() -> None:
    found = triple(NUMBER)
    assert repr(found) == repr(triple(NUMBER))
    question = found.quote.question
    print(show(replace(question.plan, post=question.post), found.catalog))  # noqa: T201
    for each in (found.catalog, found.before, found.after, found.quote.loss):
        print(each)  # noqa: T201
    for name, over in {"reference": reference, **ENGINES}.items():
        assert told_apart(found, over) is None, name
    assert len({repr(triple(number).quote) for number in range(20)}) == 20


class Lying:
    """An engine that runs another question than it was asked."""

    def __init__(self, engine: Engine, change: Callable[[BoundedPlan], BoundedPlan]) -> None:
        self._engine = engine
        self._change = change

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        return self._engine.run(self._change(plan), catalog, salt)


def changed(change: Callable[[BoundedPlan], BoundedPlan]) -> Over:
    return lambda catalog, tables: Lying(reference(catalog, tables), change)


def unclamped(plan: BoundedPlan) -> BoundedPlan:
    tallies = tuple(
        replace(tally, low=-MANY, high=MANY)
        if isinstance(tally, TotalTally | RowTally)
        else tally
        for tally in plan.tallies
    )
    return replace(plan, tallies=tallies)


def first_rows(catalog: Catalog, tables: Tables) -> Engine:
    """A table that is cut where it is too long, whoever's rows come last."""
    return reference(catalog, {place: rows[:5] for place, rows in tables.items()})


def failing(catalog: Catalog, tables: Tables) -> Engine:
    """An engine that cannot sum what is no finite number."""
    for rows in tables.values():
        for cell in (cell for row in rows for cell in row.values()):
            if isinstance(cell, float) and not isfinite(cell):
                raise OverflowError
    return reference(catalog, tables)


LIES: dict[str, Over] = {
    "all rows of a person are kept": changed(lambda plan: replace(plan, max_rows=MANY)),
    "all groups of a person are kept": changed(lambda plan: replace(plan, max_groups=MANY)),
    "rows of any length are kept": changed(lambda plan: replace(plan, max_squares=None)),
    "a person's total is not clamped": changed(unclamped),
    "the first rows of a table are kept": first_rows,
    "an engine fails on a row": failing,
}


@pytest.mark.parametrize("lie", LIES)
def test_an_engine_that_forgets_a_bound_is_caught(lie: str, bar: Bar) -> None:
    caught = next(
        (number for number in range(FOUND_WITHIN) if told_apart(triple(number), LIES[lie])),
        None,
    )
    bar(f"lie, {lie}: first caught by triple", caught, f"< {FOUND_WITHIN}", caught is not None)


def naming_all(quote: Quote, engine: Engine, catalog: Catalog, gateway: Gateway) -> bytes:
    """Every group that occurs is named, whatever was released."""
    table = engine.run(quote.bound.plan, catalog, SALT)
    named = b"" if table.groups is None else repr(unseal(table.groups)).encode()
    return named + answer(quote, engine, catalog, gateway)


def test_an_answer_that_names_every_group_is_caught(bar: Bar) -> None:
    numbers = range(FOUND_WITHIN)
    caught = next(
        (number for number in numbers if told_apart(triple(number), answer=naming_all)), None
    )
    bar(
        "lie, all groups named: first caught by triple",
        caught,
        f"< {FOUND_WITHIN}",
        caught is not None,
    )
