from fractions import Fraction

import numpy as np
import pytest

from tacit.core.domain import Group
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.core.unseal import unseal
from tacit.errors import InternalError, SecretMisuse
from tacit.lab.selection import ConstantMechanism
from tacit.mechanisms.gateway import LiveGateway, select_groups
from tacit.mechanisms.mechanism import select
from tacit.mechanisms.threshold_keys import LaplaceKeys
from tacit.numeric.entropy import SystemEntropy

ONCE = Sensitivity.of(1, Norm.L2, Rule("a person is in one group, once"))
KEYS = LaplaceKeys(Fraction(2), Fraction(1, 10**9), max_keys=1)
GROUPS: tuple[Group, ...] = (("z", 1), ("a", 2), ("a", 1), ("rare", 0))
COUNTS = [500, 900, 700, 1]


def gateway() -> LiveGateway:
    return LiveGateway(SystemEntropy(b"charge"))


def test_only_kept_groups_come_out_sorted_each_with_its_release() -> None:
    found = select(KEYS, Secret(GROUPS), Secret(np.array(COUNTS)), ONCE, gateway())
    assert found.groups == (("a", 1), ("a", 2), ("z", 1))
    assert np.abs(found.released - [700, 900, 500]).max() < 50


def test_other_tallies_of_kept_groups_follow_them_and_stay_secret() -> None:
    found = select(KEYS, Secret(GROUPS), Secret(np.array(COUNTS)), ONCE, gateway())
    ages = found.of(Secret(np.array([10, 20, 30, 40])))
    assert unseal(ages).tolist() == [30, 20, 10]
    with pytest.raises(SecretMisuse):
        len(ages)
    pairs = found.of(Secret(np.arange(8)), width=2)
    assert unseal(pairs).tolist() == [4, 5, 2, 3, 0, 1]


def test_numbers_wider_than_64_bits_follow_too() -> None:
    found = select_groups(GROUPS, np.array([1, 0, 1, 0]))
    wide = found.of(Secret(np.array([2**80, 1, -(2**70), 5], dtype=object)))
    assert unseal(wide).tolist() == [-(2**70), 2**80]


def test_where_the_groups_stand_is_not_told() -> None:
    assert "places=<secret>" in repr(select_groups(GROUPS, np.array([1, 0, 1, 0])))


def test_of_no_groups_none_are_kept() -> None:
    none = np.zeros(0, dtype=np.int64)
    found = select(KEYS, Secret(()), Secret(none), ONCE, gateway())
    assert (found.groups, found.released.tolist()) == ((), [])
    assert unseal(found.of(Secret(none), width=3)).tolist() == []


def test_a_number_of_releases_other_than_that_of_groups_is_our_mistake() -> None:
    with pytest.raises(InternalError, match="one number for each group"):
        select_groups(GROUPS, np.array([1, 0]))


def test_a_mechanism_that_does_not_ask_the_gateway_selects_nothing() -> None:
    constant = ConstantMechanism((1, 1, 1, 1))
    with pytest.raises(InternalError, match="through the gateway"):
        select(constant, Secret(GROUPS), Secret(np.array(COUNTS)), ONCE, gateway())
