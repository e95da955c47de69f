"""Every mechanism keeps its contract, and each check refuses its lie."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import numpy as np
import pytest
from loaded_file import load_file

import tacit.mechanisms
from tacit.accounting.pricing import delta_at, loss_of
from tacit.core.event import Event, LaplaceNoise, Nothing
from tacit.core.loss import Loss, Measure
from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import Laplace
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import Mechanism
from tacit.noise.integers import Integers
from tacit.numeric.exact_numbers import exact
from tacit.testing.mechanism_contract import (
    Draws,
    MechanismContract,
    MechanismExample,
    p_value_of,
)

PLACE = Path(__file__).parent / "mechanism_examples"
METHODS = ("event", "release", "error")
ODD = 1e-6
STANDARD_ERRORS = 4
CONFIDENCES = [Fraction("0.5"), Fraction("0.9"), Fraction("0.99")]
EPSILONS = [Fraction(tenths, 10) for tenths in (0, 1, 3, 5, 7, 10, 15, 20, 30)]
FEW = 20_000
"""Draws that often tell a lie already."""

MAY_BE_ZERO = {
    "Quantile.probability": "the least value",
    "TreeQuantile.probability": "the same",
    "GridQuantile.confidence": "nothing is promised",
}
MAY_BE_CERTAIN = {"TruncatedLaplace": "the noise has an end"}


MODULES = {
    path.stem: load_file(path, f"mechanism_examples_{path.stem}")
    for path in sorted(PLACE.glob("*.py"))
}
EXAMPLES: dict[str, MechanismExample] = {
    name: module.EXAMPLE for name, module in MODULES.items()
}
AUDITED = [name for name, example in EXAMPLES.items() if example.event_of_audit]
MEASURED = [name for name, example in EXAMPLES.items() if example.error_of]


@cache
def draws(name: str) -> Draws:
    example = EXAMPLES[name]
    return example.sample(example.mechanism, example.left, count(name))


def count(name: str) -> int:
    return getattr(MODULES[name], "DRAWS", 200_000)


def event_of(name: str) -> Event:
    return EXAMPLES[name].mechanism.event(EXAMPLES[name].sensitivity)


def pure_loss(name: str) -> Loss | None:
    try:
        return loss_of(event_of(name), Measure.PURE)
    except InvalidValue:
        return None


PURE = [name for name in EXAMPLES if pure_loss(name)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_law_is_accepted(name: str) -> None:
    assert EXAMPLES[name].p_value(draws(name)) > ODD


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_law_that_is_a_little_off_is_rejected(name: str) -> None:
    example = EXAMPLES[name]
    lies = (
        example.p_value(example.sample(example.off, example.left, size))
        for size in (min(FEW, count(name)), count(name))
    )
    assert any(lie < ODD for lie in lies)


def test_a_release_that_the_law_never_makes_is_rejected() -> None:
    # half of what should be 0 is 2: a threshold that is too low looks like this
    honest = np.repeat([[1], [0]], 1000, axis=0)
    lie = np.repeat([[1], [0], [2]], [1000, 500, 500], axis=0)
    p_value = p_value_of({(1,): 0.5, (0,): 0.5})
    assert p_value(lie) < ODD < p_value(honest)


def exceeded(example: MechanismExample, claimed: Event, epsilons: Iterable[Fraction]) -> bool:
    """Whether the exact curve passes the claimed one at any of the epsilons."""
    return any(
        example.hockey_stick(float(epsilon))
        > float(delta_at(claimed, epsilon)) * (1 + 1e-9) + 1e-12
        for epsilon in epsilons
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_exact_curve_stays_below_the_claim(name: str) -> None:
    assert not exceeded(EXAMPLES[name], event_of(name), EPSILONS)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if event_of(name) != Nothing()])
def test_a_claim_to_lose_nothing_is_refuted(name: str) -> None:
    assert exceeded(EXAMPLES[name], Nothing(), EPSILONS)


QUICK = [
    *("laplace", "gaussian", "workload", "ball", "truncated_laplace"),
    *("randomised_response", "gaussian_keys", "smooth_laplace", "student"),
]
"""Examples whose draws take little time, or of which only the event is looked at."""


def at_twice(example: MechanismExample) -> list[str]:
    return list(MechanismContract(example, "", FEW).wrong_at_twice())


@pytest.mark.parametrize("name", QUICK)
def test_a_mechanism_keeps_its_contract_at_twice_the_sensitivity(name: str) -> None:
    assert at_twice(EXAMPLES[name]) == []


class Unmoved(Laplace):
    """The lie of a mechanism that takes every sensitivity for 1."""

    def event(self, sensitivity: Sensitivity) -> LaplaceNoise:
        return super().event(replace(sensitivity, square=Fraction(1)))


class Shrunk(Laplace):
    """The lie of an event that loses less for a larger sensitivity."""

    def event(self, sensitivity: Sensitivity) -> LaplaceNoise:
        return super().event(replace(sensitivity, square=1 / sensitivity.square))


@dataclass(frozen=True)
class Fitted:
    """Laplace noise for an epsilon, fitted to the sensitivity unless it is ``fixed``: a lie."""

    epsilon: Fraction
    fixed: bool = False

    def event(self, sensitivity: Sensitivity) -> LaplaceNoise:
        return Laplace(sensitivity.amount / self.epsilon).event(sensitivity)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        amount = Fraction(1) if self.fixed else sensitivity.amount
        return Laplace(amount / self.epsilon).release(secret, sensitivity, gateway)

    def error(self, confidence: Fraction) -> Fraction:
        return Laplace(1 / self.epsilon).error(confidence)


LOSES_MORE = "At twice the sensitivity, the draws lose more than the event says."


@pytest.mark.parametrize(
    ("mechanism", "found"),
    [
        (Unmoved(Fraction(2)), [LOSES_MORE]),
        (Shrunk(Fraction(2)), ["At twice the sensitivity, the event loses less.", LOSES_MORE]),
        (Fitted(Fraction(1, 2), fixed=True), [LOSES_MORE]),
        (Fitted(Fraction(1, 2)), []),
    ],
    ids=["event", "event that shrinks", "release", "honest"],
)
def test_a_mechanism_that_ignores_the_sensitivity_is_found(
    mechanism: Mechanism, found: list[str]
) -> None:
    lie = replace(EXAMPLES["laplace"], mechanism=mechanism)
    assert at_twice(lie) == found
    # at the sensitivity of the example, nothing shows it
    assert mechanism.event(lie.sensitivity) == Laplace(Fraction(2)).event(lie.sensitivity)


def test_an_example_that_cannot_double_is_checked_by_its_event_alone() -> None:
    lie = replace(EXAMPLES["laplace"], mechanism=Shrunk(Fraction(2)), doubles=False)
    assert at_twice(lie) == ["At twice the sensitivity, the event loses less."]


@pytest.mark.parametrize("name", PURE)
def test_a_pure_loss_leaves_no_delta(name: str) -> None:
    loss = pure_loss(name)
    assert loss
    assert EXAMPLES[name].hockey_stick(float(loss.amount)) <= 1e-12


@pytest.mark.parametrize("name", AUDITED)
def test_nine_tenths_of_the_loss_are_refuted(name: str) -> None:
    loss = pure_loss(name)
    assert loss
    lower = loss.amount * Fraction(9, 10)
    assert EXAMPLES[name].hockey_stick(float(lower)) > 1e-3


def within(name: str, error: Fraction) -> float:
    error_of = EXAMPLES[name].error_of
    assert error_of
    return float(np.mean(error_of(draws(name)) <= float(error)))


@pytest.mark.parametrize("confidence", CONFIDENCES, ids=str)
@pytest.mark.parametrize("name", MEASURED)
def test_the_error_is_the_quantile_that_is_measured(name: str, confidence: Fraction) -> None:
    error = EXAMPLES[name].mechanism.error(confidence)
    margin = STANDARD_ERRORS * float(confidence * (1 - confidence) / count(name)) ** 0.5
    assert within(name, error) >= float(confidence) - margin
    assert within(name, error - 1) <= float(confidence) + margin


@pytest.mark.parametrize("name", MEASURED)
def test_half_of_the_error_is_too_little(name: str) -> None:
    error = EXAMPLES[name].mechanism.error(Fraction("0.99"))
    assert within(name, error / 2) < 0.99 - STANDARD_ERRORS * (0.99 * 0.01 / count(name)) ** 0.5


PARAMETERS = [
    (name, field.name)
    for name, example in EXAMPLES.items()
    for field in fields(example.mechanism)  # type: ignore[arg-type]
    if isinstance(getattr(example.mechanism, field.name), Fraction)
]


@pytest.mark.parametrize(("name", "field"), PARAMETERS)
def test_a_parameter_of_zero_or_below_is_refused(name: str, field: str) -> None:
    mechanism = EXAMPLES[name].mechanism
    wrong = [Fraction(-1), Fraction(-1, 10**9)]
    if f"{type(mechanism).__name__}.{field}" not in MAY_BE_ZERO:
        wrong.append(Fraction(0))
    for value in wrong:
        with pytest.raises(InvalidValue):
            replace(mechanism, **{field: value})  # type: ignore[type-var]


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999999999"])
def test_what_is_no_finite_number_never_becomes_a_parameter(text: str) -> None:
    # parameters are fractions, and this is the one way to make them from what a person wrote
    with pytest.raises(InvalidValue):
        exact(text)
    if text != "1e999999999":
        with pytest.raises(InvalidValue):
            exact(float(text))


HUGE = Fraction(2**61)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_huge_noise_and_huge_values_do_not_wrap(name: str) -> None:
    example = EXAMPLES[name]
    field = fields(example.mechanism)[0].name  # type: ignore[arg-type]
    huge = replace(example.mechanism, **{field: HUGE})  # type: ignore[type-var]
    drawn = example.sample(huge, (2**63 - 1,), 2000)
    low, high = min(map(int, drawn[:, 0])), max(map(int, drawn[:, 0]))
    # a wrapped sum would lie a whole 2**64 away
    assert low > 2**63 - 80 * 2**61
    assert high < 2**63 + 80 * 2**61
    assert high > 2**63 - 1 > low


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_confidence_lies_below_one(name: str) -> None:
    mechanism = EXAMPLES[name].mechanism
    wrong = [Fraction(-1, 100), Fraction(2)]
    if type(mechanism).__name__ not in MAY_BE_CERTAIN:
        wrong.append(Fraction(1))
    for confidence in wrong:
        with pytest.raises(InvalidValue):
            mechanism.error(confidence)


def mechanisms_in(module: ModuleType) -> set[str]:
    """The names of the mechanisms that a module defines."""
    return {
        name
        for name, found in vars(module).items()
        if isinstance(found, type)
        and found.__module__ == module.__name__
        and all(callable(getattr(found, method, None)) for method in METHODS)
        and not getattr(found, "_is_protocol", False)
    }


def without_example(modules: Iterable[ModuleType]) -> set[str]:
    shown = {type(example.mechanism).__name__ for example in EXAMPLES.values()}
    return set().union(*map(mechanisms_in, modules)) - shown


def test_every_mechanism_has_an_example() -> None:
    names = [module.name for module in iter_modules(tacit.mechanisms.__path__)]
    modules = [import_module(f"tacit.mechanisms.{name}") for name in names]
    assert "Laplace" in set().union(*map(mechanisms_in, modules))
    assert without_example(modules) == set()


def test_a_mechanism_without_an_example_is_reported() -> None:
    module = ModuleType("tacit.mechanisms.planted")
    planted = type("Planted", (Laplace,), {"__module__": module.__name__})
    vars(module)["Planted"] = planted
    assert without_example([module]) == {"Planted"}
