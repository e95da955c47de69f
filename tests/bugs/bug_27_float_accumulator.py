"""TD-10, 27: losses added up in floats, where ten times a tenth is less than one."""

from collections.abc import Callable
from fractions import Fraction

from tacit.core.loss import Loss

PLACE = "tacit.core.loss:Loss.__add__"
CAUGHT_BY = "tests/unit/core/test_loss.py::test_ten_charges_of_a_tenth_fill_a_budget_of_one"
SHOWN = "assert spent == budget"

Add = Callable[[Loss, Loss], Loss]


def bug(_: Add) -> Add:
    def add(self: Loss, other: Loss) -> Loss:
        amount = float(self.amount) + float(other.amount)
        delta = float(self.delta) + float(other.delta)
        return Loss(self.measure, Fraction(amount), Fraction(delta))

    return add
