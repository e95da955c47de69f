"""TD-10, 27: the ledger's own sums in floats, which stand still above 2**53 units."""

from collections.abc import Callable

from tacit.ledger.charge import Units

PLACE = "tacit.ledger.charge:Units.__add__"
CAUGHT_BY = "tests/unit/ledger/test_units.py::test_sums_of_units_are_those_of_fractions"
SHOWN = "assert exactly(total) == ("

Add = Callable[[Units, Units], Units]


def bug(_: Add) -> Add:
    def add(self: Units, other: Units) -> Units:
        amount = float(self.amount) + float(other.amount)
        return Units(int(amount), int(float(self.delta) + float(other.delta)))

    return add
