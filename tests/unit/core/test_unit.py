from dataclasses import FrozenInstanceError

import pytest

from tacit.core.privacy_unit import Neighbours, PrivacyUnit
from tacit.errors import InvalidValue


def test_a_unit_reads_as_part_of_a_sentence() -> None:
    assert str(PrivacyUnit("person")) == "adding or removing one person, with all their rows"
    replaced = PrivacyUnit("household", Neighbours.REPLACE_ONE)
    assert str(replaced) == "replacing one household, with all their rows, by another"


def test_units_hide_their_presence_unless_the_owner_says_otherwise() -> None:
    assert PrivacyUnit("person").neighbours is Neighbours.ADD_REMOVE
    assert PrivacyUnit("person") != PrivacyUnit("person", Neighbours.REPLACE_ONE)


def test_a_size_is_public_only_where_neighbours_have_equal_sizes() -> None:
    assert Neighbours.REPLACE_ONE.size_is_public
    assert not Neighbours.ADD_REMOVE.size_is_public


def test_replacing_is_a_removal_and_an_addition() -> None:
    assert Neighbours.REPLACE_ONE.additions == 2 * Neighbours.ADD_REMOVE.additions == 2


@pytest.mark.parametrize("name", ["", "  ", "\n"])
def test_a_unit_without_a_name_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(InvalidValue, match=r"privacy unit needs a name .* such as 'person'"):
        PrivacyUnit(name)


def test_a_unit_is_frozen() -> None:
    unit = PrivacyUnit("person")
    with pytest.raises(FrozenInstanceError):
        unit.neighbours = Neighbours.REPLACE_ONE
