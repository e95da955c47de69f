"""A choice pays for each group by itself, and replays hold every group to that."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.mechanisms.grid_quantiles import GridQuantile
from tacit.numeric.entropy import SystemEntropy

HALF = Fraction(1, 2)
MEDIAN = GridQuantile(HALF, HALF, HALF, cells=4, max_groups=2)
MOVED = Sensitivity.of(2, Norm.L1, Rule("one row in each of two groups"))
BEFORE = [1, 2, 0, 1, 0, 3, 0, 0]
"""Two groups of four cells."""


def replay(after: list[int]) -> None:
    recording = RecordingGateway(SystemEntropy(b"the hash of a charge"))
    MEDIAN.release(Secret(np.array(BEFORE)), MOVED, recording)
    MEDIAN.release(Secret(np.array(after)), MOVED, ReplayingGateway(recording.calls))


def test_a_row_in_each_group_passes() -> None:
    replay([1, 3, 0, 1, 0, 3, 1, 0])


def test_two_rows_in_one_group_are_caught_though_they_are_within_the_sum() -> None:
    with pytest.raises(BrokenPromise, match="changes by more than 1 in a group"):
        replay([1, 3, 1, 1, 0, 3, 0, 0])
