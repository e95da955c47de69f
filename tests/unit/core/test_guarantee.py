from dataclasses import FrozenInstanceError

import pytest

from tacit.core.event import Numerics
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.core.release import Guarantee

PATIENTS = Population("patients", PrivacyUnit("person"))
ROUNDED = "noise computed with rounded real numbers has the law of exact ones"


@pytest.mark.parametrize(
    ("loss", "claim"),
    [
        (Loss.pure(1), "satisfies differential privacy with ε = 1\n"),
        (
            Loss.approximate(1, "1e-6"),
            "satisfies approximate differential privacy with ε = 1, δ = 0.000001\n",
        ),
        (
            Loss.zcdp("1/8", "1e-3"),
            "satisfies zero-concentrated differential privacy with ρ = 0.125, δ = 0.001\n",
        ),
    ],
)
def test_a_guarantee_names_its_measure_and_its_amount(loss: Loss, claim: str) -> None:
    assert claim in str(Guarantee(PATIENTS, loss))


def test_a_guarantee_without_assumptions_is_one_sentence() -> None:
    assert str(Guarantee(PATIENTS, Loss.pure(1))) == (
        "By itself, this release about patients satisfies differential privacy with ε = 1\n"
        "for adding or removing one person, with all their rows."
    )


def test_a_guarantee_says_for_whom() -> None:
    unit = PrivacyUnit("household", Neighbours.REPLACE_ONE)
    told = str(Guarantee(Population("tenants", unit), Loss.pure(1)))
    assert "about tenants" in told
    assert told.endswith("for replacing one household, with all their rows, by another.")
    assert "adding" not in told


def test_every_assumption_is_printed() -> None:
    told = str(Guarantee(PATIENTS, Loss.pure(1), ("the ids are right", "visits link to one")))
    assert told.endswith("\nIt assumes that the ids are right; that visits link to one.")


def test_idealised_noise_is_an_assumption_and_exact_noise_is_none() -> None:
    exact = Guarantee(PATIENTS, Loss.pure(1))
    idealised = Guarantee(PATIENTS, Loss.pure(1), numerics=Numerics.IDEALISED)
    assert str(idealised).endswith(f"\nIt assumes that {ROUNDED}.")
    assert ROUNDED not in str(exact)


def test_idealised_noise_stands_after_the_other_assumptions() -> None:
    told = Guarantee(PATIENTS, Loss.pure(1), ("the ids are right",), Numerics.IDEALISED)
    assert str(told).endswith(f"\nIt assumes that the ids are right; that {ROUNDED}.")
    assert told.assumptions == ("the ids are right",)


def test_a_guarantee_is_frozen() -> None:
    guarantee = Guarantee(PATIENTS, Loss.pure(1))
    with pytest.raises(FrozenInstanceError):
        guarantee.loss = Loss.pure(0)
