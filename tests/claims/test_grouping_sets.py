"""A CUBE has less error than its tables apart, its totals add up, and its intervals hold.

Tables with counts are released many times. The error of all cells together is compared with
that of the same tables, asked for one by one with the best division of the same loss, and with
the least error that any Gaussian noise on linear functions can have (arXiv 2305.08175).
"""

import os
from dataclasses import replace
from fractions import Fraction
from math import prod, sqrt

import numpy as np
import pytest
from conftest import Bar

from tacit.core import (
    Catalog,
    Column,
    Dataset,
    Epoch,
    Keys,
    Kind,
    Limits,
    Location,
    Loss,
    Population,
    PrivacyUnit,
    Schema,
    UnitColumn,
)
from tacit.core.secret import Secret
from tacit.engines.engine import SecretTable
from tacit.mechanisms import Gaussian, LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.marginal_tables import cells_of, key_sizes
from tacit.query.marginal_estimates import estimate_tables, sum_cells
from tacit.query.paid_work import release, table_columns
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.sql.parser import parse

pytestmark = pytest.mark.claim

RUNS = int(os.environ.get("TACIT_CUBES", "1000"))
"""Releases of each cube. Its cells share noise, so that few releases vary more."""

RHO = Fraction(1, 10)
CUBES = {"three columns": (2, 5, 6), "four columns": (2, 3, 4, 5)}


def declared(sizes: tuple[int, ...], limits: Limits) -> Catalog:
    keys = tuple(
        Column(f"c{place}", Kind.INTEGER, keys=Keys(tuple(range(size)), complete=True))
        for place, size in enumerate(sizes)
    )
    columns = Schema((Column("person", Kind.INTEGER), *keys))
    place, unit = Location("here", ("visits",)), UnitColumn("person")
    visits = Dataset("visits", "all", columns, unit, limits, place, Epoch("1"))
    return Catalog((Population("all", PrivacyUnit("person")),), (visits,))


def quote_of(sizes: tuple[int, ...], limits: Limits) -> Quote:
    names = ", ".join(f"c{place}" for place in range(len(sizes)))
    text = f"SELECT {names}, COUNT(*) AS n FROM visits GROUP BY CUBE ({names})"  # noqa: S608
    catalog = declared(sizes, limits)
    return price(parse(text, catalog), catalog, Loss.zcdp(RHO))


def cells(sizes: tuple[int, ...]) -> np.ndarray:
    return np.arange(prod(sizes), dtype=np.int64) * 7 % 90


def errors(quote: Quote, sizes: tuple[int, ...]) -> tuple[float, int, float]:
    """The mean squared error of all cells, totals that do not add up, and the coverage."""
    gateway, exact = LiveGateway(SystemEntropy(b"a cube")), cells(sizes)
    table = SecretTable(None, (Secret(exact),))
    truths = [
        sum_cells(exact, sizes=sizes, kept=each.kept).tolist() for each in quote.bound.tables
    ]
    truth = [value for each in truths for value in each]
    square, inside, wrong = 0.0, 0, 0
    for _ in range(RUNS):
        _, released = release(quote, table, gateway)
        column = table_columns(quote, released)[-1]
        ends = column.counted or column.intervals
        for value, around, wanted in zip(column.values, ends, truth, strict=True):
            square += float(value - wanted) ** 2  # type: ignore[operator]
            inside += around[0] <= wanted <= around[1]  # type: ignore[index, operator]
        wrong += violations(quote, sizes, column.values)
    many = RUNS * len(truth)
    return square / many, wrong, inside / many


def violations(quote: Quote, sizes: tuple[int, ...], values: tuple[object, ...]) -> int:
    """How many totals differ from the sums of the parts of a larger table."""
    tables, start = {}, 0
    for each in quote.bound.tables:
        end = start + cells_of(sizes, each.kept)
        shape = [sizes[place] if place in each.kept else 1 for place in range(len(sizes))]
        tables[each.kept] = np.array(values[start:end], dtype=object).reshape(shape)
        start = end
    found = 0
    for kept, table in tables.items():
        for place in kept:
            less = tuple(other for other in kept if other != place)
            found += int((table.sum(axis=place, keepdims=True) != tables[less]).sum())
    return found


def apart(quote: Quote) -> float:
    """The mean squared error of tables that are asked for one by one, with the best division.

    A table of N cells with a part h of the loss has the total variance N / (2 * rho * h), and
    the best parts are proportional to the root of N. One person is in one cell of each.
    """
    sizes = key_sizes(quote.bound.plan)
    counts = [cells_of(sizes, table.kept) for table in quote.bound.tables]
    return sum(map(sqrt, counts)) ** 2 / (2 * float(RHO)) / sum(counts)


def residual_planner(quote: Quote) -> float:
    """The least mean squared error of Gaussian noise, by the closed form of the paper."""
    sizes = key_sizes(quote.bound.plan)
    total = prod((size - 1) / sqrt(size) + sqrt(1 + 1 / size) for size in sizes) ** 2
    return total / (2 * float(RHO)) / prod(1 + size for size in sizes)


@pytest.mark.parametrize("name", CUBES)
def test_a_cube_has_less_error_than_its_tables_apart(name: str, bar: Bar) -> None:
    sizes = CUBES[name]
    quote = quote_of(sizes, Limits(1, 1))
    error, wrong, rate = errors(quote, sizes)
    ratio, least = sqrt(error / apart(quote)), sqrt(residual_planner(quote) / apart(quote))
    bar(f"RMSE of a CUBE of {name}, of tables apart", ratio, "at most 0.75", ratio <= 0.75)
    more = ratio / least
    bar(
        f"the same, of the residual planner's {least:.3f}",
        more,
        "0.95 to 1.1",
        0.95 < more < 1.1,
    )
    bar(f"totals of {name} that do not add up", wrong, "0", wrong == 0)
    bar(f"coverage of {name}", rate, "0.93 to 0.97", 0.93 <= rate <= 0.97)


def test_people_in_several_groups(bar: Bar) -> None:
    """One person moves a total by three times as much as a finest cell."""
    sizes = CUBES["three columns"]
    quote = quote_of(sizes, Limits(3, 2))
    _, wrong, rate = errors(quote, sizes)
    bar("totals that do not add up, 3 groups each", wrong, "0", wrong == 0)
    bar("coverage, 3 groups each", rate, "0.93 to 0.97", 0.93 <= rate <= 0.97)


# lies -----------------------------------------------------------------------------------------


def test_a_smaller_noise_in_the_quote_than_in_the_answer_is_seen() -> None:
    sizes = CUBES["three columns"]
    quote = quote_of(sizes, Limits(1, 1))
    louder = replace(
        quote,
        tallies=tuple(
            replace(each, mechanism=Gaussian(each.mechanism.variance * Fraction(16, 9)))
            for each in quote.tallies
            if isinstance(each.mechanism, Gaussian)
        ),
    )
    table, gateway = (
        SecretTable(None, (Secret(cells(sizes)),)),
        LiveGateway(SystemEntropy(b"lie")),
    )
    truth = [
        value
        for each in quote.bound.tables
        for value in sum_cells(cells(sizes), sizes=sizes, kept=each.kept).tolist()
    ]
    inside = 0
    for _ in range(RUNS):
        _, released = release(louder, table, gateway)
        column = table_columns(quote, released)[-1]
        ends = column.counted or column.intervals
        inside += sum(
            low <= wanted <= high  # type: ignore[operator]
            for (low, high), wanted in zip(ends, truth, strict=True)  # type: ignore[misc]
        )
    assert inside / (RUNS * len(truth)) < 0.93


def test_tables_with_noise_of_their_own_do_not_add_up() -> None:
    sizes = CUBES["three columns"]
    quote = quote_of(sizes, Limits(1, 1))
    table, gateway = (
        SecretTable(None, (Secret(cells(sizes)),)),
        LiveGateway(SystemEntropy(b"lie")),
    )
    _, released = release(quote, table, gateway)
    [measured] = quote.measured
    alone = dict(zip(measured, released, strict=True))
    values = tuple(value for each in quote.bound.tables for value in alone[each.kept])
    assert violations(quote, sizes, values) > 0
    estimates = [each[0] for each in estimate_tables(quote, released)]
    assert violations(quote, sizes, tuple(value for each in estimates for value in each)) == 0
