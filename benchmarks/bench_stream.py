"""What a step costs, from the first to the 10^5th; 10^4 groups for a year; and the picture.

`TACIT_STREAM_STEPS` says how many steps a long stream has, `TACIT_STREAM_GROUPS` how many
groups.
"""

import os
from contextlib import closing
from datetime import date
from fractions import Fraction
from pathlib import Path
from time import perf_counter

import numpy as np
from conftest import ROOT, Bar
from stream_plot import plotted

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Column, Keys, Kind, Schema
from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm
from tacit.engines.engine import SecretTable
from tacit.ledger.ledger import Ledger
from tacit.noise.gaussian import DiscreteGaussian
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.expression import Span
from tacit.sql.parser import parse
from tacit.store.connect import open_sqlite
from tacit.store.sealed_state import SealingKey, States
from tacit.stream.factor import ALL, Factor, Memory, Tree
from tacit.stream.open_stream import OpenStream, Place
from tacit.stream.quote import worst
from tacit.stream.stream import Periods, Stream
from tacit.stream.toeplitz import Buffered, Toeplitz

STEPS = int(os.environ.get("TACIT_STREAM_STEPS", str(10**5)))
GROUPS = int(os.environ.get("TACIT_STREAM_GROUPS", str(10**4)))
YEAR, PART = 365, 1000
LATER = 4_102_444_800_000
"""Milliseconds up to 2100, when all of these periods are over."""
PAGE = ROOT / "docs/explanation/streams.svg"


def test_a_step_with_buffers_costs_the_same_from_the_first_to_the_last(bar: Bar) -> None:
    factor, entropy = Buffered.square_root(STEPS), SystemEntropy(b"bench")
    draws = DiscreteGaussian(Fraction(10**20)).draw(entropy, STEPS)
    memory: Memory = ()
    took, held = [], []
    for start in range(0, STEPS, PART):
        began = perf_counter()
        for number in range(start, start + PART):
            _, memory = factor.next(number, memory, draws[number : number + 1])
        took.append((perf_counter() - began) / PART)
        held.append(sum(buffer.nbytes for buffer in memory))
    few = max(1, len(took) // 10)
    ratio = float(np.median(took[-few:]) / np.median(took[:few]))
    bar(f"µs of a step's noise, {STEPS} steps", 1e6 * float(np.median(took)), "told", ok=True)
    bar("last steps over first", ratio, "within 1.5", ratio < 1.5)
    bar("bytes of the memory, at most", max(held), f"{held[0]}", max(held) == held[0])


class Counted:
    """An engine that takes no time: what is measured is ours."""

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        del plan, catalog, salt
        return SecretTable(None, (Secret(np.arange(GROUPS)),))


def place(path: Path) -> Place:
    people = Population("patients", PrivacyUnit("person"))
    columns = (
        Column("patient", Kind.INTEGER),
        Column("code", Kind.INTEGER, keys=Keys(tuple(range(GROUPS)))),
        Column("day", Kind.DATE),
    )
    visits = Dataset(
        name="visits",
        population="patients",
        schema=Schema(columns),
        unit=UnitColumn("patient"),
        limits=Limits(1, 1),
        location=Location("here", ("visits",)),
        epoch=Epoch("1"),
    )
    store = open_sqlite(path / "ledger.db")
    ledger = Ledger(store, clock=lambda: LATER)
    budget = Budget(Loss.zcdp(1), Fraction(1, 10**6))
    ledger.open_budget(people, budget, ("ann",), by="ann")
    states = States(store, SealingKey(bytes(32)))
    return Place(ledger, states, Counted(), Catalog((people,), (visits,)), b"", "ann", "1")


def test_ten_thousand_groups_for_a_year_take_less_than_a_minute(
    tmp_path: Path, bar: Bar
) -> None:
    here = place(tmp_path)
    with closing(here.ledger._store):
        plan = parse("SELECT code, COUNT(*) AS n FROM visits GROUP BY code", here.catalog)
        periods = Periods("day", Span.DAYS, date(2026, 1, 1), YEAR)
        running = OpenStream(Stream(plan, periods, Loss.zcdp(1), ALL, 1), here)
        began = perf_counter()
        for number in range(YEAR):
            running.advance(number)
        took = perf_counter() - began
    bar(f"seconds of {YEAR} steps of {GROUPS} groups", took, "below 60", took < 60)


def tree(horizon: int) -> float:
    found = Tree(horizon)
    return float(found.levels**0.5 * found.spread(ALL).max())


def test_the_picture_is_that_of_the_page() -> None:
    sizes = (52, 256, 1024, 4096, 20_000, 10**5)

    def error(factor: Factor) -> float:
        return worst(factor, ALL, 1, Norm.L2)

    lines = {
        "independent": [(n, n**0.5) for n in sizes],
        "binary tree": [(n, tree(n)) for n in sizes],
        "remembering": [
            (n, error(Toeplitz.square_root(n) if n <= 4096 else Buffered.square_root(n)))
            for n in sizes
        ],
        "lower bound": [(n, _lower_bound(n)) for n in sizes],
    }
    PAGE.write_text(plotted(lines))


def _lower_bound(horizon: int) -> float:
    """Of the root mean square, by the trace norm; see `tests/claims/streams.py`."""
    places = (2 * np.arange(1, horizon + 1) - 1) * np.pi / (4 * horizon + 2)
    return float((1 / (2 * np.sin(places))).mean())
