"""Estimators keep their contract, and an estimator that is wrong in one way does not."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loaded_file import load_file

from tacit.core import GaussianNoise, Neighbours, Nothing
from tacit.mechanisms import Gaussian
from tacit.ml import GaussianNB, LinearRegression, LogisticRegression
from tacit.testing.checks import run_checks
from tacit.testing.estimator_contract import SETTINGS, EstimatorContract

PAGE = Path(__file__).parents[2] / "examples/plugins/tacit-toy-estimator/tacit_toy_estimator"
TOY = load_file(PAGE / "__init__.py", "toy_estimator_of_contract")
ToyMean: Any = TOY.ToyMean


def contract_of(made: Callable[..., Any]) -> EstimatorContract:
    """Return the contract over twenty people at 0, whom one at 1 joins."""
    return EstimatorContract(
        lambda: made(epsilon=4.0, delta=1e-5, bounds=(0, 1)),
        np.zeros((20, 1)),
        (1.0,),
        lambda model: float(model.mean_),
        fits=20,
    )


def test_the_toy_keeps_its_contract() -> None:
    assert contract_of(ToyMean).violations() == []


def believing(**facts: object) -> type:
    """Return the toy as if some facts of every training were others: the lie of a test."""

    class Seen:
        def __init__(self, training: Any) -> None:
            self._training = training
            vars(self).update(facts)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._training, name)

    class Believing(ToyMean):  # type: ignore[misc]
        def event(self, training: Any) -> Any:
            return super().event(Seen(training))

        def steps(self, training: Any, gateway: Any) -> Any:
            return super().steps(Seen(training), gateway)

    return Believing


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"max_rows": 1}, {(3, "ADD_REMOVE"), (3, "REPLACE_ONE")}),
        ({"neighbours": Neighbours.ADD_REMOVE}, {(1, "REPLACE_ONE"), (3, "REPLACE_ONE")}),
    ],
    ids=["max_rows", "neighbours"],
)
def test_an_estimator_that_forgets_a_public_fact_is_found(
    facts: dict[str, object], found: set[tuple[int, str]]
) -> None:
    sentences = list(contract_of(believing(**facts)).released_otherwise())
    assert all("distinguishes neighbours" in each for each in sentences)
    told = {
        (setting.max_rows, setting.neighbours.name)
        for setting in SETTINGS
        for each in sentences
        if each.endswith(f"This was found {setting}.")
    }
    assert told == found
    assert len(sentences) == len(found)


class Unlimited(ToyMean):  # type: ignore[misc]
    """The lie of a plan that keeps all rows of a person."""

    def steps(self, training: Any, gateway: Any) -> Iterator[Any]:
        steps = super().steps(training, gateway)
        plan = replace(next(steps), max_rows=10**6, max_rows_in_all=None)
        try:
            steps.send((yield plan))
        except StopIteration as done:
            return done.value


class Quiet(ToyMean):  # type: ignore[misc]
    """The lie of a release with the right sensitivity and a tenth of the noise."""

    def steps(self, training: Any, gateway: Any) -> Any:
        class Quieter:
            def release(self, secret: Any, sensitivity: Any, draw: Any) -> Any:
                less = Gaussian(draw.sampler.variance / 100)
                return less.release(secret, sensitivity, gateway)

        return super().steps(training, Quieter())


class Dear(ToyMean):  # type: ignore[misc]
    """The lie of an event above the claimed loss, where a person has several rows."""

    def event(self, training: Any) -> Any:
        if training.max_rows == 1:
            return super().event(training)
        return GaussianNoise(Fraction(100), Fraction(1))


class Unset(ToyMean):  # type: ignore[misc]
    """The lie of settings that leave out the loss."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        del deep
        return {"bounds": self.bounds}


class Failing(ToyMean):  # type: ignore[misc]
    """The lie of an estimator that fails where a person has several rows."""

    def event(self, training: Any) -> Any:
        return Nothing() if training.max_rows == 1 else 1 / 0


@pytest.mark.parametrize(
    ("lie", "found"),
    [
        (Unlimited, "distinguishes neighbours"),
        (Quiet, "The releases have less noise than the event says."),
        (Dear, "The event loses more than the estimator's epsilon and delta allow."),
        (Unset, "The settings that get_params returns make an estimator of another event."),
        (Failing, "The check priced_by_data cannot be finished: it raises ZeroDivisionError"),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
def test_an_estimator_that_lies_is_found(lie: type, found: str) -> None:
    contract = contract_of(lie)
    sentences = run_checks(
        contract.priced_by_data, contract.released_otherwise, contract.not_made_again
    )
    assert any(found in each for each in sentences)


def labelled(made: Callable[..., Any], target: Any, label: object, **more: Any) -> Any:
    """Return the contract of a model with a target."""
    features = np.linspace(-1, 1, 30).reshape(15, 2)
    return EstimatorContract(
        lambda: made(epsilon=2.0, delta=1e-5, bounds=(-1, 1), **more),
        features,
        (1.0, 1.0),
        lambda _: 0.0,
        target(features[:, 0]),
        label,
    )


@pytest.mark.parametrize(
    "contract",
    [
        labelled(LogisticRegression, lambda x: (x > 0).astype(int), 1),
        labelled(GaussianNB, lambda x: (x > 0).astype(int), 1, classes=[0, 1]),
        labelled(LinearRegression, lambda x: x, 1.0, target_bounds=(-1, 1)),
    ],
    ids=["rows", "sums by class", "sums"],
)
def test_models_of_tacit_keep_the_contract(contract: EstimatorContract) -> None:
    checks = (contract.priced_by_data, contract.released_otherwise, contract.not_made_again)
    assert run_checks(contract.incomplete, *checks) == []
