from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from tacit.errors import Conflict, InvalidValue
from tacit.store.connect import open_sqlite
from tacit.store.sealed_state import SealingKey, States
from tacit.stream.factor import Factor, Memory, Tree
from tacit.stream.sealed_noise import SealedNoise
from tacit.stream.toeplitz import Buffered, Toeplitz

FACTORS: list[Factor] = [
    Toeplitz.independent(8),
    Toeplitz.square_root(8),
    Tree(8),
    Buffered.square_root(8),
]


def drawn(number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(-(10**6), 10**6, 3)


def never() -> np.ndarray:
    pytest.fail("the noise was drawn again")


@pytest.fixture
def states(tmp_path: Path) -> Iterator[States]:
    with closing(open_sqlite(tmp_path / "ledger.db")) as store:
        yield States(store, SealingKey(bytes(32)))


@pytest.mark.parametrize("factor", FACTORS)
def test_noise_is_that_of_the_factor_also_where_each_step_is_a_new_process(
    factor: Factor, states: States
) -> None:
    memory: Memory = ()
    for number in range(8):
        wanted, memory = factor.next(number, memory, drawn(number))
        found = SealedNoise(states, "s", factor).at(number, lambda n=number: drawn(n))
        again = SealedNoise(states, "s", factor).at(number, never)
        assert found.tolist() == again.tolist() == wanted.tolist()


@pytest.mark.parametrize("factor", FACTORS)
def test_two_who_draw_at_once_are_given_the_same(factor: Factor, states: States) -> None:
    found: list[list[int]] = []

    def ask(seed: int) -> None:
        kept = SealedNoise(states, "s", factor)
        found.append(kept.at(0, lambda: drawn(seed)).tolist())

    threads = [Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert found.count(found[0]) == 8


@pytest.mark.parametrize("factor", FACTORS)
def test_steps_are_drawn_in_order(factor: Factor, states: States) -> None:
    kept = SealedNoise(states, "s", factor)
    with pytest.raises((InvalidValue, Conflict)):
        kept.at(1, lambda: drawn(1))


def test_noise_of_constant_memory_is_gone_when_the_next_is_drawn(states: States) -> None:
    kept = SealedNoise(states, "s", Tree(8))
    kept.at(0, lambda: drawn(0))
    kept.at(1, lambda: drawn(1))
    with pytest.raises(Conflict):
        kept.at(0, never)


def test_the_store_holds_no_noise_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(open_sqlite(path)) as store:
        states = States(store, SealingKey(bytes(32)))
        SealedNoise(states, "s", Toeplitz.independent(8)).at(0, lambda: np.array([123456789]))
    held = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"noise" in held or b"s" in held
    assert b"123456789" not in held
