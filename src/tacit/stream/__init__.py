"""Continual release: one charge for a whole horizon, one release for each period."""

from tacit.stream.factor import ALL, EACH, Window
from tacit.stream.holdout import OpenHoldout, Thresholdout
from tacit.stream.open_stream import Guard, OpenStream, Place
from tacit.stream.quote import price_stream
from tacit.stream.step import StreamRelease, expected, history, policy_of
from tacit.stream.stream import Periods, Stream, covered_until

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
    "expected",
    "history",
    "policy_of",
    "price_stream",
]
