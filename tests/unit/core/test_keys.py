from dataclasses import FrozenInstanceError

import pytest

from tacit.core.domain import Keys, Provenance
from tacit.errors import InvalidValue


def test_keys_keep_the_order_in_which_they_are_shown() -> None:
    assert Keys(("south", "north")).values == ("south", "north")
    assert Keys(("south", "north")) != Keys(("north", "south"))


def test_keys_say_where_they_come_from() -> None:
    assert Keys((1, 2)).provenance is Provenance.PUBLIC
    assert Keys((1, 2), Provenance.POLICY) != Keys((1, 2))


def test_no_keys_at_all_are_refused() -> None:
    with pytest.raises(InvalidValue, match="at least one value; leave keys out"):
        Keys(())


def test_equal_keys_are_refused_with_their_number() -> None:
    with pytest.raises(InvalidValue, match="some of these 3 are equal"):
        Keys(("north", "south", "north"))


def test_text_and_integers_do_not_mix() -> None:
    with pytest.raises(InvalidValue, match="all text or all integers, but these are not"):
        Keys((1, "2"))


def test_keys_are_frozen() -> None:
    keys = Keys(("north",))
    with pytest.raises(FrozenInstanceError):
        keys.values = ("south",)


@pytest.mark.parametrize("values", [(1.5, 2.5), (None,), (True, False)])
def test_keys_of_another_type_are_refused(values: tuple[object, ...]) -> None:
    with pytest.raises(InvalidValue):
        Keys(values)
