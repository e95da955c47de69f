"""Random histories of a ledger, written in groups and one by one: every decision is the same.

A history has populations with small budgets, analysts in several teams, quotas of analysts and
teams, a default quota, and owners who change all of it between the batches of charges. Some
charges repeat a question or an idempotency key, name an old declaration, or do not fit. After
each history, all outcomes and all tables of the store are compared.

`TACIT_GROUP_HISTORIES` says how many histories there are.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from random import Random
from typing import Any

import pytest
from asking import PERSON
from sqlalchemy import select

from tacit.core.event import Event, KeySelection, LaplaceNoise, Nothing
from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.errors import TacitError
from tacit.ledger import group_quotas, group_write
from tacit.ledger.charge import (
    NO_UNITS,
    Charge,
    ChargeRequest,
    StoredRelease,
    Target,
    Units,
)
from tacit.ledger.committer import Committer, Waiting
from tacit.ledger.group_write import AnswerWriting, ChargeWriting, Member
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store
from tacit.store.tables import metadata

HISTORIES = int(os.environ.get("TACIT_GROUP_HISTORIES", "12"))
BATCHES, LEASE = 6, 40

ANALYSTS = ("ann", "bob", "Ann", "o'neil", "zoé", "x@y")
TEAMS = ("@lab", "@ward", "@Lab")
NAMES = ("nurses", "patients", "visitors")
"""The budgets of the first two are in epsilon, that of the last one in rho and delta."""


class History:
    """One random history. The same seed gives the same history, if all outcomes are equal."""

    def __init__(self, store: Store, seed: int, *, grouped: bool) -> None:
        self.random = Random(seed)  # noqa: S311 - a test that can be repeated
        self.store, self.grouped = store, grouped
        self.now, self.nonce = 1_000, 0
        self.ledger = Ledger(store, clock=lambda: self.now)
        self.paid: list[Charge] = []
        self.told: list[object] = []
        self.asked: list[ChargeRequest] = []
        self.grants = 0

    def play(self) -> tuple[list[object], dict[str, list[Any]]]:
        """Return what everybody was told, and everything in the store."""
        for name in NAMES:
            cap = self.loss(name, self.random.randrange(2, 30))
            delta = Fraction(1, 10**6) if name == "visitors" else Fraction(0)
            population, terms = Population(name, PERSON), Budget(cap, delta)
            self.ledger.open_budget(population, terms, ("olga", "otto"), by="olga")
        for _ in range(BATCHES):
            for _ in range(self.random.randrange(4)):
                self.act()
            self.write([self.member() for _ in range(self.random.randrange(1, 12))])
            self.now += self.random.choice((0, 1, LEASE // 2, LEASE))
        return self.told, content(self.store)

    # ---------------------------------------------------------- charges and answers

    def write(self, members: Sequence[Member]) -> None:
        """Write a batch in a group, or one by one."""
        waiting = [Waiting(member) for member in members]
        batches = [waiting] if self.grouped else [[each] for each in waiting]
        for batch in batches:
            Committer(self.store)._write_all(batch)
        for each in waiting:
            found = each.outcome
            if isinstance(found, TacitError):
                self.told.append(f"{type(found).__name__}: {found}")
                continue
            self.told.append(found)
            if isinstance(found, Charge):
                self.paid.append(found)
                self.grants += 1

    def member(self) -> Member:
        """Return a charge, or the answer to an earlier charge; some answers come twice."""
        if self.paid and self.random.random() < 0.3:
            charge = self.random.choice(self.paid)
            if self.random.random() < 0.8:
                self.paid.remove(charge)
            return AnswerWriting(charge, charge.receipt, self.now)
        question = self.question()
        self.asked.append(question)
        self.nonce += 1
        return ChargeWriting(
            question,
            self.nonce.to_bytes(16, "big"),
            self.now,
            self.now + LEASE,
            {name: self.declared(name) for name in question.populations},
        )

    def declared(self, population: str) -> int:
        """Return the number of the current declaration; rarely, that of none."""
        number = self.ledger.numbers().get(population, 0)
        return 0 if self.random.random() < 0.1 else number

    def question(self) -> ChargeRequest:
        """Return a new question, or one that somebody has asked before."""
        if self.asked and self.random.random() < 0.25:
            again = self.random.choice(self.asked)
            who = self.random.choice((again.principal, self.random.choice(ANALYSTS)))
            key = self.random.choice((again.request, f"again {len(self.asked)}"))
            return replace(again, principal=who, request=key)
        names = self.random.sample(NAMES, self.random.choice((1, 1, 1, 2)))
        number = len(self.asked)
        key = "a key" if self.random.random() < 0.2 else f"key {number}"
        return ChargeRequest(
            targets=tuple(self.target(name) for name in sorted(names)),
            principal=self.random.choice(ANALYSTS),
            request=key,
            plan=sha256(str(self.random.choice((number, number // 3))).encode()).digest(),
            loss=Loss.pure("0.1"),
            policy="1",
            epochs=("visits 2026",),
            question=self.random.choice((b"", b"q")),
        )

    def target(self, name: str) -> Target:
        unit = PrivacyUnit("household") if self.random.random() < 0.02 else PERSON
        return Target(Population(name, unit), self.event(name))

    def event(self, name: str) -> Event:
        scale = self.random.choice((5, 10, 10, 10**9))
        if self.random.random() < 0.1:
            return Nothing()
        if name == "visitors" and self.random.random() < 0.5:
            return KeySelection(Fraction(1, scale), Fraction(1, 10**8), 1)
        return LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(scale))

    # ---------------------------------------------------------- acts between batches

    def loss(self, name: str, tenths: int) -> Loss:
        amount = Fraction(tenths, 10)
        if name != "visitors":
            return Loss.pure(amount)
        return Loss.zcdp(amount**2 / 2, Fraction(tenths, 10**8))

    def act(self) -> None:
        """Do something that owners, analysts or failing engines do."""
        name, random, ledger = self.random.choice(NAMES), self.random, self.ledger
        who, team = random.choice(ANALYSTS), random.choice(TEAMS)
        cap = self.loss(name, random.choice((0, 1, 2, 3, 5, 8)))
        choices: list[Callable[[], object]] = [
            lambda: ledger.set_quota(name, who, cap, by="olga"),
            lambda: ledger.set_quota(name, team, cap, by="olga"),
            lambda: ledger.set_default_quota(name, cap, by="olga"),
            lambda: ledger.join(name, who, team, by="olga"),
            lambda: ledger.join(name, who, team, by="olga"),
            lambda: ledger.join(name, who, team, by="olga"),
            lambda: ledger.leave(name, who, team, by="olga"),
            lambda: ledger.request_quota(name, cap, by=who, reason="more"),
            lambda: self.grant(name),
            lambda: ledger.declare(name, (f"fact {self.now}",), by="olga"),
            lambda: ledger.declare(name, (f"fact {self.now}",), by="olga"),
            lambda: ledger.set_least(name, Fraction(random.choice((0, 1, 9)), 100), by="olga"),
            lambda: ledger.freeze(name, by="olga"),
            lambda: ledger.thaw(name, by="olga"),
            lambda: ledger.thaw(name, by="olga"),
            self.trouble,
            lambda: ledger.look(name, by="olga"),
            lambda: ledger.look(name, by="olga"),
        ]
        try:
            random.choice(choices)()
        except TacitError as error:
            self.told.append(f"{type(error).__name__}: {error}")

    def grant(self, name: str) -> None:
        for number in self.ledger.quota_requests(name):
            self.ledger.grant_quota(name, number, by="otto")

    def trouble(self) -> None:
        """Park, abandon, retry or fail an earlier charge."""
        if not self.paid:
            return
        charge, ledger = self.random.choice(self.paid), self.ledger
        ways = ("park", "park", "abandon", "retry", "fail")
        way = self.random.choice(ways)
        getattr(ledger, way)(charge)
        if way == "fail":  # nobody stores an answer after that
            self.paid = [each for each in self.paid if each.receipt != charge.receipt]


def content(store: Store) -> dict[str, list[Any]]:
    """Everything in the store."""
    with store.reading() as work:
        tables = metadata.sorted_tables
        return {table.name: sorted(work.all(select(table), {}), key=str) for table in tables}


@pytest.fixture(params=os.environ.get("TACIT_STORES", "memory").split(","))
def new(
    request: pytest.FixtureRequest,
    new_store: Callable[[str], str],
    opened: Callable[[str], Store],
) -> Callable[[], Store]:
    """Make an empty store."""
    return lambda: opened(new_store(request.param))


def difference(new: Callable[[], Store], seed: int) -> str:
    """Say where a history in groups differs from the same one by one; empty if nowhere."""
    together, alone = new(), new()
    told, tables = History(together, seed, grouped=True).play()
    expected, rows = History(alone, seed, grouped=False).play()
    for number, (mine, theirs) in enumerate(zip(told, expected, strict=False)):
        if mine != theirs:
            return f"history {seed}, outcome {number}: {mine}, one by one {theirs}"
    wrong = [name for name in tables if tables[name] != rows[name]]
    for name in NAMES:
        Ledger(together).verify(name)
    return f"history {seed}, tables {wrong}" if wrong or len(told) != len(expected) else ""


def test_groups_decide_as_one_by_one_in_random_histories(new: Callable[[], Store]) -> None:
    assert [found for seed in range(HISTORIES) if (found := difference(new, seed))] == []


def test_histories_grant_and_refuse_for_many_reasons(new: Callable[[], Store]) -> None:
    words, answers = set(), 0
    for seed in range(12):
        for each in History(new(), seed, grouped=True).play()[0]:
            answers += isinstance(each, StoredRelease)
            words.add(str(each).partition(":")[0])
    wanted = {"BudgetExceeded", "KeyReused", "AnswerPending", "AnswerLost", "ChargesFrozen"}
    assert words >= wanted | {"DeclarationsChanged", "InvalidValue"}
    assert answers > 12


def _no_teams(principal: str, _: object) -> tuple[str, ...]:
    """The lie: a group counts for the analyst alone."""
    return (principal,)


def _for_nothing(self: group_write._Tally, principal: str, _: Units) -> None:
    """The lie: a group spends nothing."""
    honest_add(self, principal, NO_UNITS)


honest_add = group_write._Tally.add


@pytest.mark.parametrize(
    ("place", "name", "lie"),
    [
        (group_quotas, "sort_holders", _no_teams),
        (group_quotas, "_check_default", lambda *_: None),
        (group_quotas, "with_default", lambda quota, _: quota),
        (group_write._Tally, "add", _for_nothing),
    ],
    ids=["no teams", "no default quota", "own quotas only", "no costs"],
)
def test_a_rule_that_groups_do_not_have_is_seen(
    place: object,
    name: str,
    lie: object,
    new: Callable[[], Store],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(place, name, lie)
    assert any(_differs(new, seed) for seed in range(12))


def _differs(new: Callable[[], Store], seed: int) -> bool:
    try:
        return difference(new, seed) != ""
    except TacitError:  # a chain that is not valid
        return True
