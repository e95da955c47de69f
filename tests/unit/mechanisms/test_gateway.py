from fractions import Fraction

import numpy as np
import pytest

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.core.unseal import unseal
from tacit.errors import InternalError
from tacit.mechanisms.additive_noise import AddNoise
from tacit.mechanisms.gateway import (
    NOWHERE,
    LiveGateway,
    NothingGateway,
    SelectedGroups,
    inside,
    select_groups,
    together,
)
from tacit.noise.inversion import Categorical, Inversion
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import ScriptedEntropy, ScriptEnded

ONE = Sensitivity.of(1, Norm.L1, Rule("a row changes a count by 1"))
COIN = AddNoise(Inversion(Categorical((1, 1))))
HEADS, TAILS = 2**64 - 1, 0


def test_a_gateway_releases_what_the_draw_makes_of_the_secret() -> None:
    gateway = LiveGateway(ScriptedEntropy([HEADS, TAILS, TAILS, HEADS]))
    secret = Secret(np.array([40, 2]))
    assert gateway.release(secret, ONE, COIN).tolist() == [41, 2]
    assert gateway.release(secret, ONE, COIN).tolist() == [40, 3]


def test_a_gateway_never_uses_a_word_twice() -> None:
    gateway = LiveGateway(ScriptedEntropy([HEADS]))
    gateway.release(Secret(np.array([40])), ONE, COIN)
    with pytest.raises(ScriptEnded):
        gateway.release(Secret(np.array([40])), ONE, COIN)


def test_a_live_release_is_fresh_each_time() -> None:
    gateway = LiveGateway(SystemEntropy(b"the hash of a charge"))
    wide = AddNoise(DiscreteLaplace(Fraction(2**50)))
    released = [gateway.release(Secret(np.array([40, 2])), ONE, wide) for _ in range(2)]
    assert released[0].shape == (2,)
    assert released[0].tolist() != released[1].tolist()


def test_a_gateway_holds_nothing_but_its_entropy() -> None:
    gateway = LiveGateway(ScriptedEntropy([HEADS]))
    gateway.release(Secret(np.array([40])), ONE, COIN)
    assert gateway.__slots__ == ("_entropy", "_mark")  # a mark says that a draw begins
    with pytest.raises(AttributeError):
        gateway.last = 40


GROUPS = Secret((("b",), ("a",), ("c",)))


def test_a_gateway_says_before_each_draw_that_it_begins() -> None:
    told: list[str] = []
    gateway = LiveGateway(ScriptedEntropy([HEADS]), lambda: told.append("drawn"))
    assert told == []
    gateway.release(Secret(np.array([40])), ONE, COIN)
    with pytest.raises(ScriptEnded):
        gateway.release(Secret(np.array([40])), ONE, COIN)
    assert told == ["drawn", "drawn"]


def test_a_gateway_selects_the_groups_with_a_number_above_zero() -> None:
    gateway = LiveGateway(ScriptedEntropy([HEADS, TAILS, TAILS]))
    found = gateway.select(GROUPS, Secret(np.array([0, 9, 0])), ONE, COIN)
    assert found.groups == (("a",), ("b",))
    assert found.released.tolist() == [9, 1]
    assert unseal(found.places).tolist() == [1, 0]


def test_a_rehearsal_releases_the_noise_of_zeros() -> None:
    gateway = NothingGateway(ScriptedEntropy([HEADS, TAILS]))
    assert gateway.release(Secret(np.array([40, 2])), ONE, COIN).tolist() == [1, 0]


def test_a_rehearsal_selects_nobody_and_draws_nothing() -> None:
    entropy = ScriptedEntropy([])
    found = NothingGateway(entropy).select(GROUPS, Secret(np.array([7, 9, 8])), ONE, COIN)
    assert found.groups == ()
    assert found.released.tolist() == []
    assert unseal(found.of(Secret(np.array([1, 2, 3])))).tolist() == []
    assert entropy.used == 0


def test_a_tally_of_a_group_that_a_table_has_not_is_zero() -> None:
    places = Secret(np.array([2, NOWHERE, 0]))
    found = SelectedGroups((("a",), ("b",), ("c",)), np.array([1, 1, 1]), places)
    assert unseal(found.of(Secret(np.array([7, 8, 9])))).tolist() == [9, 0, 7]
    wide = Secret(np.array([7, 70, 8, 80, 9, 90]))
    assert unseal(found.of(wide, width=2)).tolist() == [9, 90, 0, 0, 7, 70]


def test_a_selection_needs_one_number_for_each_group() -> None:
    with pytest.raises(InternalError, match="one number for each group"):
        select_groups((("a",), ("b",)), np.array([1]))


def test_batches_are_joined_and_then_put_in_order() -> None:
    batches = [Secret(np.array([3, 4])), Secret(np.array([5]))]
    assert unseal(together(batches)).tolist() == [3, 4, 5]
    assert unseal(together(batches, order=[2, 0, 0])).tolist() == [5, 3, 3]
    assert isinstance(together(batches), Secret)


def test_what_is_computed_inside_a_secret_stays_there() -> None:
    doubled = inside(Secret(np.array([3, 4])), lambda values: 2 * values)
    assert isinstance(doubled, Secret)
    assert unseal(doubled).tolist() == [6, 8]
