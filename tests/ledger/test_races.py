"""64 processes ask at once: what is granted never passes the budget, on both stores."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count

import pytest
from asking import ask, open_pure
from conftest import Bar
from racing import SIZE, Crowd, faults
from unlocked import UnlockedLedger

from tacit.core.event import LaplaceNoise
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population
from tacit.ledger.charge import ChargeRequest
from tacit.ledger.ledger import Ledger
from tacit.store.connect import open_store

ROUNDS = int(os.environ.get("TACIT_RACE_ROUNDS", "50"))
OTHER_ROUNDS = max(5, ROUNDS // 5)
LIES = 10
COST = Loss.pure("0.1")


@dataclass
class Arena:
    """A store, the crowd that races on it, and the ledger of who looks afterwards."""

    kind: str
    crowd: Crowd
    ledger: Ledger
    numbers: Iterator[int] = field(default_factory=count)

    def population(self, fit: int) -> Population:
        """A new population, with a budget for exactly ``fit`` questions."""
        epsilon = str(COST.amount * fit)
        return open_pure(self.ledger, epsilon, f"round {next(self.numbers)}")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def arena(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Arena]:
    kind = request.param
    if kind == "sqlite":
        address = f"sqlite:///{tmp_path_factory.mktemp('race')}/ledger.db"
    else:
        address = request.getfixturevalue("cluster").database("races")
    # the crowd is forked before this process opens the store
    with Crowd(address) as crowd, closing(open_store(address)) as store:
        yield Arena(kind, crowd, Ledger(store))


def own_questions(of: Population) -> list[ChargeRequest]:
    """One question for each of the crowd, all different."""
    return [ask(f"{of.name}, question {i}", of=of, principal=f"p{i}") for i in range(SIZE)]


def test_all_open_a_new_store_at_once(arena: Arena) -> None:
    assert Counter(outcome.error for outcome in arena.crowd.opened) == {"": SIZE}


@pytest.mark.parametrize("fit", [1, 10, 63])
def test_exactly_what_fits_is_granted(arena: Arena, fit: int, bar: Bar) -> None:
    granted: Counter[int] = Counter()
    found = []
    for _ in range(ROUNDS):
        of = arena.population(fit)
        outcomes = arena.crowd.race(own_questions(of))
        granted[sum(not outcome.error for outcome in outcomes)] += 1
        found += faults(arena.ledger, of.name, outcomes, fit=fit, cost=COST)
    name = f"race on {arena.kind}, budget for {fit} of {SIZE}"
    least, most = min(granted), max(granted)
    shown = f"{least} to {most}" if least < most else least
    bar(
        f"{name}: granted in {ROUNDS} rounds", shown, f"{fit} in each", granted == {fit: ROUNDS}
    )
    assert not found


@pytest.mark.parametrize("fit", [1, 10, 63])
def test_a_ledger_that_looks_and_then_writes_is_caught(
    arena: Arena, fit: int, bar: Bar
) -> None:
    most, caught = 0, 0
    for _ in range(LIES):
        of = arena.population(fit)
        outcomes = arena.crowd.race(own_questions(of), UnlockedLedger)
        most = max(most, sum(not outcome.error for outcome in outcomes))
        caught += bool(faults(arena.ledger, of.name, outcomes, fit=fit, cost=COST))
    name = f"race on {arena.kind}, budget for {fit} of {SIZE}, unlocked"
    bar(f"{name}: most granted in {LIES} rounds", most, f"over {fit}", most > fit)
    bar(f"{name}: rounds that the check caught", caught, "at least 1", caught >= 1)


def rounds_of_one_charge(
    arena: Arena, kind: type[Ledger], rounds: int, *, one_key: bool
) -> int:
    """In how many rounds one question of all was charged once and told all the same."""
    once = 0
    for _ in range(rounds):
        of = arena.population(1)
        keys = [of.name if one_key else f"{of.name}, {i}" for i in range(SIZE)]
        outcomes = arena.crowd.race([ask("one", of=of, request=key) for key in keys], kind)
        told = {(outcome.error, outcome.text, outcome.body) for outcome in outcomes}
        spent = arena.ledger.status(of.name).spent
        once += len(told) == 1 and not outcomes[0].error and spent == COST
    return once


@pytest.mark.parametrize("one_key", [True, False], ids=["one key", "own keys"])
def test_one_question_of_all_is_charged_once(arena: Arena, one_key: bool, bar: Bar) -> None:  # noqa: FBT001
    once = rounds_of_one_charge(arena, Ledger, OTHER_ROUNDS, one_key=one_key)
    keys = "one key" if one_key else f"{SIZE} keys"
    name = f"race on {arena.kind}, one question under {keys}"
    wanted = f"all of {OTHER_ROUNDS}"
    bar(f"{name}: rounds of one charge and the same bytes", once, wanted, once == OTHER_ROUNDS)
    assert rounds_of_one_charge(arena, UnlockedLedger, LIES, one_key=one_key) < LIES


def test_questions_of_many_sizes_stay_within_the_cap(arena: Arena, bar: Bar) -> None:
    noises = [LaplaceNoise(Fraction(1), Fraction(5 + 3 * i)) for i in range(SIZE)]
    costs = [Fraction(1) / noise.scale for noise in noises]
    over = wrong = 0
    for _ in range(OTHER_ROUNDS):
        of = arena.population(10)
        questions = [
            ask(f"{of.name}, question {i}", of=of, principal=f"p{i}", event=noise)
            for i, noise in enumerate(noises)
        ]
        outcomes = arena.crowd.race(questions)
        verdict = arena.ledger.verify(of.name)
        granted = [cost for cost, told in zip(costs, outcomes, strict=True) if not told.error]
        refused = [cost for cost, told in zip(costs, outcomes, strict=True) if told.error]
        left = verdict.cap.amount - verdict.spent.amount
        over += sum(granted) > verdict.cap.amount
        # a sum of charges only grows, so that what did not fit then does not fit now
        wrong += left < 0 or any(cost < left for cost in refused)
    name = f"race on {arena.kind}, {SIZE} sizes"
    bar(f"{name}: rounds over the cap", over, "0", over == 0)
    bar(f"{name}: rounds with a refusal that would have fitted", wrong, "0", wrong == 0)
