"""The error of what is released, beside that of others: equal loss, equal bounds, same data."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import sqrt
from statistics import fmean as mean
from statistics import median
from typing import Any

import numpy as np
import pytest
import tumult_formulas
from conftest import Bar, Peer
from people import BOUNDS, answers, kept, kept_alone, tables

from tacit.core.loss import Loss

pytestmark = pytest.mark.peer

TABLES = 20
RUNS = 2000
PEER_RUNS = {"opendp": 1000, "tumult": 20_000, "pipelinedp": 1000}
STANDARD_ERRORS = 4
LOSSES = {"pure": Loss.pure(1), "zcdp": Loss.zcdp("0.125")}
UNITS = [*range(1, 81)]
"""People of each street: the smallest are never kept, and the largest always."""


@dataclass(frozen=True)
class Asked:
    """A statistic of a column, on tables of so many rows."""

    question: str
    sql: str
    column: str
    rows: int

    @property
    def tables(self) -> list[list[int]]:
        return tables(self.column, self.rows, TABLES)

    def exact(self) -> np.ndarray:
        """The true statistic of each table, in a column."""
        found = {"count": len, "sum": sum, "mean": mean, "median": median}[self.question]
        return np.array([[found(table)] for table in self.tables])


ASKED = {
    "count": Asked("count", "COUNT(*)", "age", 1000),
    "sum": Asked("sum", "SUM(age)", "age", 1000),
    "mean near the middle of its bounds": Asked("mean", "AVG(age)", "age", 1000),
    "mean near an end of its bounds": Asked("mean", "AVG(pay)", "pay", 1000),
    "median of 100": Asked("median", "MEDIAN(pay)", "pay", 100),
    "median of 1,000": Asked("median", "MEDIAN(pay)", "pay", 1000),
    "median of 1,000 with ties": Asked("median", "MEDIAN(age)", "age", 1000),
}
PEERS = [("opendp", "pure"), ("opendp", "zcdp"), ("tumult", "pure"), ("tumult", "zcdp")]
PEERS += [("pipelinedp", "pure")]  # it has no rho


def answered(peer: Peer, name: str, given: dict[str, Any]) -> np.ndarray:
    """What a peer answers: a row for each table."""
    given = given | {"runs": PEER_RUNS[name] // len(given["tables"])}
    if name == "tumult":
        answer = tumult_formulas.QUESTIONS[given["question"]]
        return np.array([answer(given, table) for table in given["tables"]])
    return np.array(peer(name, script="answer.py", given=given)["values"])


@cache
def ours(name: str, loss: Loss) -> np.ndarray:
    """What Tacit answers: a row for each table."""
    asked, runs = ASKED[name], RUNS // TABLES
    return np.array(
        [answers(asked.sql, asked.column, table, loss, runs) for table in asked.tables]
    )


def error(found: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """The root of the mean squared error, and its standard error as a part of it."""
    squares = (found - exact) ** 2
    mean = float(squares.mean())
    # the tables are given, so that only what differs between runs is chance
    spread = squares.std(axis=1)
    doubt = sqrt(float((spread**2).mean()) / squares.size)
    return sqrt(mean), doubt / (2 * mean)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ASKED]
)
@pytest.mark.parametrize(("peer_name", "measure"), PEERS)
def test_no_worse(name: str, peer_name: str, measure: str, peer: Peer, bar: Bar) -> None:
    asked, loss = ASKED[name], LOSSES[measure]
    low, high = BOUNDS[asked.column]
    amount = float(loss.amount)
    given = {"question": asked.question, "tables": asked.tables, "low": low, "high": high}
    given |= {"measure": measure, "loss": amount, "epsilon": amount}
    mine, my_doubt = error(ours(name, loss), asked.exact())
    theirs, their_doubt = error(answered(peer, peer_name, given), asked.exact())
    most = theirs * (1 + STANDARD_ERRORS * sqrt(my_doubt**2 + their_doubt**2))
    wanted = f"<= {most:.4g}, {theirs:.4g} of {peer_name} and {STANDARD_ERRORS} standard errors"
    bar(f"RMSE of {name} at {loss}", mine, wanted, mine <= most)


@pytest.mark.parametrize("max_keys", [1, 4])
@pytest.mark.parametrize("peer_name", PEER_RUNS)
def test_no_fewer_keys(max_keys: int, peer_name: str, peer: Peer, bar: Bar) -> None:
    loss = Loss.approximate(1, "1e-6")
    # PipelineDP selects keys alone, and the others release their noisy counts too
    alone = peer_name == "pipelinedp"
    mine = np.array((kept_alone if alone else kept)(UNITS, max_keys, loss, 1000))
    given = {"question": "keys", "tables": [UNITS], "max_keys": max_keys}
    given |= {"epsilon": float(loss.amount), "delta": float(loss.delta)}
    theirs = answered(peer, peer_name, given)
    doubt = sqrt(mine.var() / mine.size + theirs.var() / theirs.size)
    least = float(theirs.mean()) - STANDARD_ERRORS * doubt
    wanted = f">= {least:.4g}, {theirs.mean():.4g} of {peer_name} less 4 standard errors"
    name = f"{'keys alone' if alone else 'keys with counts'} of {len(UNITS)} at {loss}"
    bar(f"{name}, {max_keys} a person", float(mine.mean()), wanted, float(mine.mean()) >= least)


@pytest.mark.parametrize("name", ["count", "mean near an end of its bounds", "median of 1,000"])
def test_a_third_less_loss_would_show(name: str, bar: Bar) -> None:
    """The lie: what spent less than it said is worse by more than chance explains."""
    loss = LOSSES["pure"]
    exact, less = ASKED[name].exact(), Loss(loss.measure, loss.amount * Fraction(2, 3))
    honest, doubt = error(ours(name, loss), exact)
    lie, more = error(ours(name, less), exact)
    most = honest * (1 + STANDARD_ERRORS * sqrt(doubt**2 + more**2))
    bar(f"RMSE of {name}, a third of the loss unspent", lie, f"> {most:.4g}", lie > most)
