"""Continual release: one charge for a whole horizon, one release for each period.

A `Stream` declares a question that is repeated each period. `price_stream` computes its price
without data, and `OpenStream` charges the horizon once and releases the steps in order. An
`OpenHoldout` answers many adaptively chosen questions about shares of rows under one charge.
"""

from tacit.stream.factor import ALL, EACH, Window
from tacit.stream.holdout import OpenHoldout, Thresholdout
from tacit.stream.open_stream import Guard, OpenStream, Place
from tacit.stream.quote import price_stream
from tacit.stream.step import StreamRelease, expected_step_errors, history, policy_of
from tacit.stream.stream import Periods, Stream, covered_until, names_a_time

__all__ = [
    "ALL",
    "EACH",
    "Guard",
    "OpenHoldout",
    "OpenStream",
    "Periods",
    "Place",
    "Stream",
    "StreamRelease",
    "Thresholdout",
    "Window",
    "covered_until",
    "expected_step_errors",
    "history",
    "names_a_time",
    "policy_of",
    "price_stream",
]
