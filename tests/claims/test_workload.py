"""Claim T40: a batch of linear queries costs less than its queries one by one."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from conftest import Bar

from tacit.accounting.pricing import loss_of
from tacit.core.loss import Loss
from tacit.core.secret import Secret
from tacit.lab.matrix_mechanism import LinearQueries, Rows, choose_queries, squared_error
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import l1

pytestmark = pytest.mark.claim

HALF = Loss.zcdp("0.5")
"""At this loss a single count has noise of a standard deviation of 1."""

BINS = 64
PREFIXES: Rows = tuple(tuple(int(j <= i) for j in range(BINS)) for i in range(BINS))
CELLS = tuple(product(range(4), range(4), range(4)))
MARGINALS: Rows = tuple(
    tuple(int(cell[attribute] == value) for cell in CELLS)
    for attribute in range(3)
    for value in range(4)
)
RUNS = 4000


def rmse(queries: Rows, chosen: LinearQueries) -> float:
    return float(np.sqrt((chosen.deviations(queries) ** 2).mean()))


def one_by_one(queries: Rows) -> float:
    """The error where each query has noise of its own, and all together the same loss."""
    columns = np.abs(np.array(queries)).astype(float)
    return float(np.sqrt((columns**2).sum(axis=0).max()))


def test_a_hundred_identical_questions_cost_one(bar: Bar) -> None:
    asked = tuple(int(j < BINS // 3) for j in range(BINS))
    single = rmse((asked,), choose_queries((asked,), l1(1), HALF))
    hundred = (asked,) * 100
    error = rmse(hundred, choose_queries(hundred, l1(1), HALF))
    bar("T40 error of 100 identical questions", error, f"{single:.3g} +-1%", error < 1.01)
    lie = one_by_one(hundred)
    bar("T40 lie: each with noise of its own", lie, "above 9", lie > 9)


def test_prefixes_and_marginals_cost_less_together(bar: Bar) -> None:
    for name, queries, gain in (
        (f"{BINS} prefixes", PREFIXES, 2),
        ("12 marginals", MARGINALS, 1),
    ):
        chosen = choose_queries(queries, l1(1), HALF)
        error, apart = rmse(queries, chosen), one_by_one(queries)
        wanted = f"at most {apart:.3g} / {gain}"
        bar(f"T40 error of {name}", error, wanted, error < apart / gain)
        assert loss_of(chosen.event(l1(1)), HALF.measure) <= HALF


def drawn(chosen: LinearQueries, cells: list[int]) -> np.ndarray:
    gateway = LiveGateway(SystemEntropy(b"claim"))
    batch = Secret(np.array(cells * RUNS))
    return chosen.answers(chosen.release(batch, l1(1), gateway), PREFIXES).reshape(RUNS, -1)


def test_answers_are_unbiased_and_err_by_what_is_said(bar: Bar) -> None:
    cells = [1000 * (j % 7) for j in range(BINS)]
    truth = np.array(PREFIXES) @ np.array(cells)
    chosen = choose_queries(PREFIXES, l1(1), HALF)
    assert max(map(max, chosen.strategy)) > 100  # rounded from real numbers
    found = drawn(chosen, cells)
    off = np.abs(found.mean(axis=0) - truth) / (chosen.deviations(PREFIXES) / RUNS**0.5)
    # 64 means pass 6 standard errors once in 10^7 runs
    bar("T40 bias of 64 prefixes, in standard errors", float(off.max()), "< 6", off.max() < 6)
    spread = float(np.sqrt(((found - truth) ** 2).mean()) / rmse(PREFIXES, chosen))
    bar("T40 measured error, of what is said", spread, "1 +-3%", abs(spread - 1) < 0.03)
    # the lie: reading by the real matrix that was rounded, and not by the integers
    strategy = np.array(chosen.strategy, dtype=float)
    rough = np.linalg.pinv(np.rint(strategy / 64) * 64)
    biased = np.abs((np.array(PREFIXES) @ rough @ strategy) @ cells - truth)
    error = float((biased / chosen.deviations(PREFIXES)).max())
    bar("T40 lie: bias of reading by another matrix", error, "above 1 deviation", error > 1)


def test_the_choice_is_the_least_of_those_compared() -> None:
    cells: Rows = tuple(tuple(int(i == j) for j in range(BINS)) for i in range(BINS))
    chosen = choose_queries(PREFIXES, l1(1), HALF)
    assert squared_error(chosen.strategy, PREFIXES) < squared_error(cells, PREFIXES)
    assert squared_error(cells, cells) == BINS
    assert choose_queries(cells, l1(1), HALF).variance >= Fraction(1)
