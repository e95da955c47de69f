from dataclasses import FrozenInstanceError

import pytest

from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.errors import InvalidValue

PERSON = PrivacyUnit("person")


def test_a_population_is_its_name_and_its_unit() -> None:
    assert Population("patients", PERSON) == Population("patients", PERSON)
    assert Population("patients", PERSON) != Population("staff", PERSON)
    replaced = PrivacyUnit("person", Neighbours.REPLACE_ONE)
    assert Population("patients", PERSON) != Population("patients", replaced)


@pytest.mark.parametrize("name", ["", " \t"])
def test_a_population_without_a_name_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(InvalidValue, match="population needs a name, such as 'patients'"):
        Population(name, PERSON)


def test_a_population_is_frozen() -> None:
    patients = Population("patients", PERSON)
    with pytest.raises(FrozenInstanceError):
        patients.name = "staff"
