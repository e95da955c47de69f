from fractions import Fraction

import numpy as np
import pytest

from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.lab.matrix_mechanism import LinearQueries
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.mechanism_contract import l1

TWO = LinearQueries(((3, 1), (0, -2)), Fraction(1, 100))


def released(cells: list[int]) -> list[int]:
    gateway = LiveGateway(SystemEntropy(b"example"))
    return TWO.release(Secret(np.array(cells, dtype=object)), l1(1), gateway).tolist()


def test_the_sensitivity_is_that_of_the_integers() -> None:
    assert TWO.column_square == 9
    assert TWO.event(l1(2)).sensitivity_square == 36


def test_several_tables_are_measured_one_after_the_other() -> None:
    # noise of a variance this small is 0 but for once in 10^21
    assert released([1, 2, 10, 20]) == [5, -4, 50, -40]


def test_integers_beyond_64_bits_are_combined_as_they_are() -> None:
    assert released([2**62, 2**62]) == [2**64, -(2**63)]


def test_a_query_that_the_strategy_does_not_span_is_refused() -> None:
    total = LinearQueries(((1, 1),), Fraction(1))
    assert total.answers(np.array([7]), ((2, 2),)) == pytest.approx([14])
    with pytest.raises(InvalidValue, match="span"):
        total.answers(np.array([7]), ((1, 0),))


@pytest.mark.parametrize("rows", [(), ((1,), (1, 2)), ((0, 0),)])
def test_a_strategy_that_is_none_is_refused(rows: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(InvalidValue, match="strategy"):
        LinearQueries(rows, Fraction(1))


def test_cells_of_half_a_table_are_refused() -> None:
    with pytest.raises(InvalidValue, match="2 cells"):
        released([1, 2, 3])
