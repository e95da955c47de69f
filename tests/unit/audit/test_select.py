"""Selections are recorded and replayed by the names of their groups."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway, align
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.core.unseal import unseal
from tacit.mechanisms.gateway import Gateway, SelectedGroups
from tacit.mechanisms.mechanism import select
from tacit.mechanisms.threshold_keys import LaplaceKeys
from tacit.numeric.entropy import SystemEntropy

SURE = LaplaceKeys(Fraction(20), Fraction(9, 10), max_keys=4)
FOUR = Sensitivity(Fraction(4), Norm.L2, Rule("a unit is in four groups, once"))


def selected(counts: Mapping[str, int], gateway: Gateway) -> SelectedGroups:
    groups = tuple((name,) for name in counts)
    values = np.array(list(counts.values()), dtype=np.int64)
    return select(SURE, Secret(groups), Secret(values), FOUR, gateway)


def recorded(counts: Mapping[str, int]) -> tuple[RecordingGateway, SelectedGroups]:
    gateway = RecordingGateway(SystemEntropy(b"charge"))
    return gateway, selected(counts, gateway)


def test_a_recording_keeps_the_groups_of_a_selection() -> None:
    gateway, found = recorded({"b": 900, "a": 800})
    [call] = gateway.calls
    assert call.groups == (("b",), ("a",))
    assert call.opened.tolist() == [900, 800]
    assert found.groups == (("a",), ("b",))


def test_a_neighbour_with_more_and_fewer_groups_is_compared_by_name() -> None:
    gateway, found = recorded({"a": 900, "gone": 1})
    replaying = ReplayingGateway(gateway.calls)
    again = selected({"a": 899, "new": 1}, replaying)
    replaying.finish()
    assert again.groups == found.groups
    assert again.released.tolist() == found.released.tolist()


def test_a_kept_group_that_the_neighbour_lacks_has_nothing_in_it() -> None:
    gateway, found = recorded({"a": 900, "gone": 60, "z": 700})
    assert found.groups == (("a",), ("gone",), ("z",))
    gateway.calls[0].opened[1] = 1  # as if one unit had been lucky
    again = selected({"z": 700, "a": 900}, ReplayingGateway(gateway.calls))
    assert again.groups == found.groups
    assert unseal(again.of(Secret(np.array([77, 99])))).tolist() == [99, 0, 77]
    assert unseal(again.of(Secret(np.arange(4)), width=2)).tolist() == [2, 3, 0, 0, 0, 1]


def test_one_group_more_than_declared_is_caught() -> None:
    gateway, _ = recorded({"a": 900})
    four = {"b": 1, "c": 1, "d": 1}
    selected({"a": 899, **four}, ReplayingGateway(gateway.calls))
    with pytest.raises(BrokenPromise, match="root of 5, but the square root of 4"):
        selected({"a": 899, **four, "e": 1}, ReplayingGateway(gateway.calls))


def test_a_unit_that_counts_twice_in_one_group_is_caught_though_it_is_near_enough() -> None:
    gateway, _ = recorded({"a": 900})
    with pytest.raises(BrokenPromise, match="twice in one group"):
        selected({"a": 902}, ReplayingGateway(gateway.calls))


def test_a_selection_and_a_plain_batch_are_not_taken_for_each_other() -> None:
    gateway, _ = recorded({"a": 900})
    secret = Secret(np.array([900]))
    with pytest.raises(BrokenPromise, match="not a selection on the neighbour"):
        SURE.release(secret, FOUR, ReplayingGateway(gateway.calls))
    plain = RecordingGateway(SystemEntropy(b"charge"))
    SURE.release(secret, FOUR, plain)
    with pytest.raises(BrokenPromise, match="selection only on the neighbour"):
        selected({"a": 900}, ReplayingGateway(plain.calls))


def test_a_selection_more_than_was_recorded_is_caught() -> None:
    with pytest.raises(BrokenPromise, match="more batches"):
        selected({"a": 900}, ReplayingGateway([]))


def test_a_group_listed_twice_is_caught() -> None:
    twice, values = [("a",), ("a",)], np.array([1, 2])
    with pytest.raises(BrokenPromise, match="returned a group twice"):
        align(twice, values, [], np.zeros(0, dtype=np.int64))


def test_counts_beyond_64_bits_are_aligned_exactly() -> None:
    left, right = align([("a",)], np.array([2**90], dtype=object), [("b",)], np.array([1]))
    assert (left.tolist(), right.tolist()) == ([2**90, 0], [0, 1])
