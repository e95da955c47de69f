"""The price of a fit, from public facts alone."""

import json
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any

from tacit.accounting.composition import leaves
from tacit.core.catalog import Catalog
from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.population import Population
from tacit.ledger.units import price
from tacit.mechanisms.gateway import Gateway
from tacit.plan.estimator import Estimator
from tacit.plan.relation import Scan
from tacit.plan.training import Training, training_of


@dataclass(frozen=True, slots=True)
class Fit:
    """What is to be fitted: a model as text, and the columns of a dataset.

    Example:
        >>> Fit('{"model":"PCA","settings":{}}', "people", ("age", "pay"), None).key.hex()[:8]
        'ba04d8d6'
    """

    spec: str
    dataset: str
    features: tuple[str, ...]
    target: str | None

    @property
    def key(self) -> bytes:
        """What the fit is known by: the same again is free."""
        told = json.dumps([self.spec, self.dataset, self.features, self.target])
        return sha256(f"tacit fit 1\n{told}".encode()).digest()


@dataclass(frozen=True, slots=True)
class FitQuote:
    """A fit with its price: what is charged for the parameters, all of them together."""

    fit: Fit
    estimator: Estimator[Gateway]
    training: Training
    event: Event
    loss: Loss
    price_delta: Fraction

    @property
    def population(self) -> Population:
        """The people whom it is about."""
        return self.training.population

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What its guarantee rests on."""
        plugin = getattr(self.estimator, "plugin", None)
        if plugin is None:
            return self.training.assumptions
        keeps = (
            f"the plug-in {plugin}, which fits the model, keeps the contract of an estimator"
        )
        return (*self.training.assumptions, keeps)

    @property
    def key(self) -> bytes:
        """What the ledger knows it by."""
        return self.fit.key

    @property
    def datasets(self) -> tuple[str, ...]:
        """The tables that it reads."""
        return self.training.source.datasets

    @property
    def asked(self) -> dict[str, Any]:
        """What a child process is told of it."""
        fit = self.fit
        told = {"spec": fit.spec, "dataset": fit.dataset, "features": fit.features}
        measure, delta = self.loss.measure.value, str(self.price_delta)
        return {"fit": told | {"target": fit.target}, "measure": [measure, delta]}


def price_fit(
    fit: Fit,
    estimator: Estimator[Gateway],
    catalog: Catalog,
    measure: Measure,
    price_delta: Fraction = Fraction(0),
) -> FitQuote:
    """What fitting ``estimator``, whose text is that of ``fit``, would do and cost.

    Guarantee: no data is read. The first step is made, though not asked, so that what is wrong
    with the settings shows here, where it is free.
    """
    training = training_of(Scan(fit.dataset), fit.features, fit.target, catalog)
    event = estimator.event(training)
    next(estimator.steps(training, _NO_GATEWAY), None)
    loss = price(event, measure, price_delta).loss(measure)  # in the units of a ledger
    return FitQuote(fit, estimator, training, event, loss, price_delta)


def delta_for_each(event: Event, delta: Fraction) -> Fraction:
    """A part of ``delta`` for each release, where losses are counted in epsilon with delta."""
    return delta / max(1, sum(times for _, times in leaves(event)))


class _NoGateway:
    """What no step before the first answer can open anything with."""

    def release(self, *_: object) -> Any:
        raise NotImplementedError

    def select(self, *_: object) -> Any:
        raise NotImplementedError


_NO_GATEWAY: Gateway = _NoGateway()
