"""What Tacit itself costs: from a text to its price, and with a million groups."""

from contextlib import suppress
from statistics import median
from time import thread_time

import hospital
import numpy as np
import pytest
from clinic import catalog
from conftest import Bar
from written import CLINIC, HOSPITAL

from tacit.core.catalog import Catalog, Limits
from tacit.core.loss import Loss
from tacit.core.secret import Secret
from tacit.engines.engine import SecretTable
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.expression import Field
from tacit.plan.plan import (
    Aggregate,
    CountRows,
    CountUnits,
    GroupKey,
    NamedAggregate,
    Plan,
    Post,
    Scan,
    Sum,
)
from tacit.query.paid_work import release
from tacit.query.pricing import price
from tacit.sql.parser import parse

GROUPS = 10**6
SECONDS = 1.0
DECLARED = catalog(Limits(max_groups=3, max_rows=2))


def question(*aggregates: Aggregate) -> Plan:
    measures = tuple(NamedAggregate(f"m{place}", part) for place, part in enumerate(aggregates))
    key = GroupKey("room", Field("room"))
    return Plan(Scan("visits"), (key,), measures, Post.showing("room"))


class Counted:
    """An engine that has counted already: what it costs to count is its own."""

    def __init__(self, groups: int) -> None:
        self._groups = tuple((place,) for place in range(groups))

    def run(self, plan: BoundedPlan, declared: Catalog, salt: bytes) -> SecretTable:
        del declared, salt
        counts = tuple(Secret(np.full(len(self._groups), 5000)) for _ in plan.tallies)
        return SecretTable(Secret(self._groups), counts)


@pytest.mark.parametrize(
    "aggregates",
    [(CountUnits(),), (CountRows(),), (CountRows(), Sum(Field("age")))],
    ids=["units", "rows", "rows and a sum"],
)
def test_a_million_groups(aggregates: tuple[Aggregate, ...], bar: Bar) -> None:
    quote = price(question(*aggregates), DECLARED, Loss.zcdp("0.1", "1e-6"))
    table = Counted(GROUPS).run(quote.bound.plan, DECLARED, b"salt")
    times, lengths = [], set()
    for _ in range(3):
        began = thread_time()
        groups, released = release(quote, table, LiveGateway(SystemEntropy(b"bench")))
        times.append(thread_time() - began)
        lengths |= {len(groups), *map(len, released)}
    named = " and ".join(type(part).__name__ for part in aggregates)
    ok = min(times) < SECONDS and lengths == {GROUPS}
    bar(f"seconds to select 10^6 groups and add noise, {named}", min(times), f"< {SECONDS}", ok)


def test_a_price_comes_at_once(bar: Bar) -> None:
    """Every written question, from its text to its quote, when it is first seen."""
    loss, limits = Loss.zcdp("0.1", "1e-6"), Limits(max_groups=3, max_rows=2)
    corpora = (
        (DECLARED, [text for group in CLINIC.values() for text in group]),
        (hospital.catalog(limits), [text for group in HOSPITAL.values() for text in group]),
    )
    times = []
    for declared, texts in corpora:
        for text in texts:
            began = thread_time()
            with suppress(InvalidValue):  # some ask for what has no noise, as SUM(NULL) has
                price(parse(text, declared), declared, loss)
                times.append(1000 * (thread_time() - began))
    shown = f"{median(times):.1f} (longest {max(times):.0f})"
    name = f"ms from text to quote, median of {len(times)} written questions"
    bar(name, shown, "<= 20", median(times) <= 20)
