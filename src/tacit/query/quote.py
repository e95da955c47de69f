"""What answering would do, cost and miss by: free, and without data."""

import json
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any

from tacit import core
from tacit.accounting import leaves
from tacit.ledger import price
from tacit.mechanisms import Gateway, Mechanism
from tacit.plan import (
    Bound,
    Canonical,
    Estimator,
    Scan,
    Training,
    group_count,
    text,
    training_of,
)
from tacit.query.selected_count import survival


@dataclass(frozen=True, slots=True)
class PricedTally:
    """The mechanism that releases one tally, and how far one unit moves it."""

    mechanism: Mechanism
    sensitivity: core.Sensitivity

    def error(self, confidence: Fraction) -> Fraction:
        """What a released number errs by at most, in steps, with this probability."""
        return self.mechanism.error(confidence)


@dataclass(frozen=True, slots=True)
class Quote:
    """A question with its price: what is charged, and how well it will be answered.

    Under (epsilon, delta) a leaf of the event without an epsilon of its own is read off its
    curve at ``price_delta``. Where the keys are not public, the first tally selects them.
    """

    question: Canonical
    bound: Bound
    population: core.Population
    tallies: tuple[PricedTally, ...]
    event: core.Composed
    loss: core.Loss
    price_delta: Fraction = Fraction(0)
    assumptions: tuple[str, ...] = ()

    @property
    def key(self) -> bytes:
        """What the ledger knows it by."""
        return self.question.hash

    @property
    def datasets(self) -> tuple[str, ...]:
        """The tables that it reads."""
        return self.bound.plan.source.datasets

    @property
    def asked(self) -> dict[str, Any]:
        """What a child process is told of it."""
        loss = self.loss
        told = [loss.measure.value, str(loss.amount), str(loss.delta)]
        return {"plan": text(self.question.plan), "loss": told}

    @property
    def survival(self) -> tuple[tuple[Fraction, int], ...]:
        """Probabilities, each with the least units of a group that is released so often.

        None are stated where the keys are public: then every group is there.
        """
        public = group_count(self.bound.plan) is not None
        return () if public else survival(self.tallies[0].mechanism)


# ------------------------------------------------------------------ fit quote
# The price of a fit, from public facts alone.


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
    event: core.Event
    loss: core.Loss
    price_delta: Fraction

    @property
    def population(self) -> core.Population:
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
    catalog: core.Catalog,
    measure: core.Measure,
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


def delta_for_each(event: core.Event, delta: Fraction) -> Fraction:
    """A part of ``delta`` for each release, where losses are counted in epsilon with delta."""
    return delta / max(1, sum(times for _, times in leaves(event)))


class _NoGateway:
    """What no step before the first answer can open anything with."""

    def release(self, *_: object) -> Any:
        raise NotImplementedError

    def select(self, *_: object) -> Any:
        raise NotImplementedError


_NO_GATEWAY: Gateway = _NoGateway()


# ------------------------------------------------------------------ fit preview
# What a quote of a fit shows, at either door.


@dataclass(frozen=True, slots=True, repr=False)
class FitPreview:
    """What a fit would cost: free, and the same whatever stands in the tables."""

    standing: core.BudgetSummary
    assumptions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        standing = self.standing
        fits = f"{standing.more} such fits are" if standing.more != 1 else "1 such fit is"
        spent = f"{core.rounded(standing.spent)} of {core.rounded(standing.cap)}"
        lines = [
            f"Price: {core.rounded(standing.cost)}; about {fits} left.",
            f"Spent about {standing.population}: {spent}.",
            *(f"It assumes that {each}." for each in self.assumptions),
        ]
        return "\n".join(lines)
