"""A limit in seconds counts the time that the cores were given."""

import os
from time import perf_counter, sleep

import conftest
import pytest


def test_time_that_was_stolen_from_all_cores_is_not_counted() -> None:
    before = "cpu  500 0 200 4000 5 0 8 1000 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
    after = "cpu  900 7 300 4000 9 0 9 1300 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
    ticks = os.sysconf("SC_CLK_TCK")
    stolen = conftest.stolen_seconds(after, 2) - conftest.stolen_seconds(before, 2)
    assert stolen == pytest.approx(300 / ticks / 2)


def test_no_more_is_given_than_passes() -> None:
    began, given = perf_counter(), conftest.given_seconds()
    sleep(0.2)
    waited = conftest.given_seconds() - given
    assert waited <= perf_counter() - began


def test_a_wait_for_a_lock_is_not_forgiven() -> None:
    best = 0.0
    for _ in range(20):
        given = conftest.given_seconds()
        sleep(0.05)
        best = max(best, conftest.given_seconds() - given)
    assert best > 0.02
