"""The section [server.time]: its three rules, their settings, and refusals."""

from fractions import Fraction
from typing import Any

import pytest

from tacit.project.document import Fault, TomlEntry
from tacit.project.project import Serving, serving_of
from tacit.project.server_time import DEADLINE, DELAY, OPEN, ServerTime

F = Fraction


def read(time: Any, **more: Any) -> Serving:
    return serving_of(TomlEntry({"time": time, **more}, ("server",)))


def test_the_defaults_of_a_delay() -> None:
    time = read({"kind": "delay"}).time
    assert time == ServerTime(DELAY, F(1), None, F(1, 20), F(1, 10**14), F(20))
    assert (time.step_ns, time.floor_steps, time.seconds) == (10**6, 20, 60)
    assert time.expected_ms is None
    assert read({"kind": "delay"}).deadline is None


def test_every_setting_of_a_delay_is_read() -> None:
    said = {
        "kind": "delay",
        "person_ms": 0.3,
        "measured": "2026-11-18 on host 7",
        "measured_ms": "0.2",
        "expected_ms": 50,
        "share": 0.1,
        "delta": "1e-10",
        "floor_ms": 7,
        "places": 16,
        "deadline": 10,
    }
    time = read(said, seconds=30).time
    assert time is not None
    assert (time.person_ms, time.share, time.delta) == (F(3, 10), F(1, 10), F(1, 10**10))
    assert (time.measured, time.places, time.deadline) == ("2026-11-18 on host 7", 16, 10.0)
    assert (time.step_ns, time.floor_steps, time.seconds) == (300_000, 24, 30)
    assert (time.expected_ms, time.measured_ms) == (50, F(1, 5))


@pytest.mark.parametrize(
    ("person_ms", "measured_ms", "is_measured"),
    [(10, 10, True), (20, 10, True), ("9.999", 10, False), (0.5, 10, False), (10, None, False)],
)
def test_a_person_ms_below_what_was_measured_is_only_declared(
    person_ms: Any, measured_ms: Any, *, is_measured: bool
) -> None:
    said = {"kind": "delay", "person_ms": person_ms, "measured": "measured on vm"}
    time = read(said if measured_ms is None else said | {"measured_ms": measured_ms}).time
    assert time is not None
    assert time.evidence == ("measured on vm" if is_measured else "declared, not measured")


def test_a_number_of_milliseconds_alone_is_no_measurement() -> None:
    time = read({"kind": "delay", "measured_ms": 1}).time
    assert time is not None
    assert time.evidence == "declared, not measured"


def test_a_deadline_is_said_in_either_place_and_not_in_both() -> None:
    wanted = ServerTime(DEADLINE, deadline=0.5)
    assert read({"kind": "deadline", "deadline": 0.5}).time == wanted
    short = serving_of(TomlEntry({"deadline": 0.5}, ("server",)))
    assert (short.time, short.deadline) == (wanted, 0.5)
    with pytest.raises(Fault, match=r"Write the deadline in \[server.time\]"):
        read({"kind": "deadline", "deadline": 0.5}, deadline=0.5)


def test_open_and_nothing() -> None:
    assert read({"kind": "open"}).time == ServerTime(OPEN)
    assert serving_of(TomlEntry({}, ("server",))).time is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, "'kind' is missing"),
        ({"kind": "soon"}, "kind must be one of: delay, deadline, open"),
        ({"kind": "deadline"}, "Write deadline = 5, in seconds: at least four times the"),
        ({"kind": "delay", "measured_ms": 0}, "measured_ms must be from 0.001 to"),
        ({"kind": "open", "measured_ms": 1}, "'measured_ms' is not a known name"),
        ({"kind": "deadline", "deadline": 61}, "at most `seconds`"),
        ({"kind": "open", "person_ms": 1}, "'person_ms' is not a known name"),
        ({"kind": "deadline", "deadline": 1, "share": 0.1}, "'share' is not a known name"),
        ({"kind": "delay", "person_ms": 0}, "person_ms must be from 0.001 to"),
        ({"kind": "delay", "person_ms": "1e7"}, "person_ms must be from"),
        ({"kind": "delay", "person_ms": "0.0010001"}, "whole number of nanoseconds"),
        ({"kind": "delay", "share": 0.6}, "share must be from 0.001 to 0.5"),
        ({"kind": "delay", "share": 0}, "share must be from"),
        ({"kind": "delay", "delta": 0.1}, "delta must be from"),
        ({"kind": "delay", "floor_ms": -1}, "floor_ms must be from"),
        ({"kind": "delay", "expected_ms": 0}, "expected_ms must be from"),
        ({"kind": "open", "expected_ms": 9}, "'expected_ms' is not a known name"),
        ({"kind": "delay", "places": 0}, "places must be from 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(said: dict[str, Any], told: str) -> None:
    with pytest.raises(Fault, match=told):
        read(said)
