"""Quotes: the price and the plan of a question or of a fit, computed without data.

A `Quote` belongs to a question and a `FitQuote` to a fit. Both say what will be charged and
which mechanisms will run; asking for them is free. `FitPreview` is the text that an analyst
sees before a fit.
"""

import json
from collections.abc import Iterator
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
    Kept,
    Scan,
    Training,
    group_count,
    subject_hash,
    text,
    training_of,
)
from tacit.query.priced_time import PricedTime
from tacit.query.selected_count import survival


@dataclass(frozen=True, slots=True)
class PricedTally:
    """The mechanism that releases a tally, and the tally's sensitivity."""

    mechanism: Mechanism
    sensitivity: core.Sensitivity

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error of a released number at this confidence, in steps."""
        return self.mechanism.error(confidence)


@dataclass(frozen=True, slots=True)
class Quote:
    """A question with its price, its mechanisms, and the assumptions of its guarantee.

    Under (epsilon, delta), the epsilon of Gaussian noise is read off its privacy curve at
    ``price_delta``. If the keys are not public, the first tally selects them. If the question
    has several tables, ``measured`` has for each tally of the plan the marginals of it that are
    released with noise, and ``tallies`` has one entry for each of them, in that order.

    ``loss`` is what was asked for. A part of it pays for the ``time`` at which the answer
    leaves, if a server delays it, and ``noise_loss`` is the rest.
    """

    question: Canonical
    bound: Bound
    population: core.Population
    tallies: tuple[PricedTally, ...]
    event: core.Composed
    loss: core.Loss
    price_delta: Fraction = Fraction(0)
    assumptions: tuple[str, ...] = ()
    measured: tuple[tuple[Kept, ...], ...] = ()
    time: PricedTime | None = None

    @property
    def noise_loss(self) -> core.Loss:
        """The part of the loss that pays for the noise of the answer."""
        return self.loss if self.time is None else self.time.rest_of(self.loss)

    @property
    def total_loss(self) -> core.Loss:
        """The loss of the answer together with the time at which it leaves."""
        return self.loss if self.time is None else self.time.total_of(self.loss)

    @property
    def key(self) -> bytes:
        """The hash by which the ledger identifies the question."""
        return self.question.hash

    @property
    def key_loss(self) -> core.Loss:
        """The loss in the key of the stored answer: the one that was asked for."""
        return self.loss

    @property
    def subject(self) -> bytes:
        """The hash by which answers that serve the question are found, at any loss."""
        return subject_hash(self.question, self.bound.plan.source)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The tables that the question reads."""
        return self.bound.plan.source.datasets

    @property
    def asked(self) -> dict[str, Any]:
        """The request that a worker process receives; it prices the question again."""
        loss = self.loss
        parts = [loss.measure.value, str(loss.amount), str(loss.delta)]
        return {"plan": text(self.question.plan), "loss": parts} | _time_asked(self.time)

    @property
    def survival(self) -> tuple[tuple[Fraction, int], ...]:
        """Probabilities, each with the least size of a group that is released that often.

        It is empty if the keys are public, because then every group is released.
        """
        public = group_count(self.bound.plan) is not None
        return () if public else survival(self.tallies[0].mechanism)


# Fits ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fit:
    """A request for a fit: a model as text, and the columns of a dataset.

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
        """The hash by which a repeated fit is recognised, which is then not charged again."""
        written = json.dumps([self.spec, self.dataset, self.features, self.target])
        return sha256(f"tacit fit 1\n{written}".encode()).digest()


@dataclass(frozen=True, slots=True)
class FitQuote:
    """A fit with its price, which covers all parameters together."""

    fit: Fit
    estimator: Estimator[Gateway]
    training: Training
    event: core.Event
    loss: core.Loss
    price_delta: Fraction
    time: PricedTime | None = None
    """The assumption about the time of the answer. The time of a fit costs nothing."""

    @property
    def total_loss(self) -> core.Loss:
        """The loss of the fit: the time at which it leaves costs nothing."""
        return self.loss

    @property
    def population(self) -> core.Population:
        """The population of the training rows."""
        return self.training.population

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The owner's declarations on which the guarantee depends."""
        kept = (
            f"the plug-in {plugin}, which fits the model, keeps the contract of an estimator"
            for plugin in dict.fromkeys(_plugins_in(self.estimator))
        )
        said = () if self.time is None else (self.time.assumption,)
        return (*self.training.assumptions, *kept, *said)

    @property
    def key(self) -> bytes:
        """The hash by which the ledger identifies the fit."""
        return self.fit.key

    @property
    def key_loss(self) -> core.Loss:
        """The loss in the key of the stored model: that of first versions of the events.

        A fit that was charged at such a price is found again, and costs nothing.
        """
        event, measure = core.first_version(self.event), self.loss.measure
        return price(event, measure, self.price_delta).loss(measure)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The tables that the fit reads."""
        return self.training.source.datasets

    @property
    def asked(self) -> dict[str, Any]:
        """The request that a worker process receives; it prices the fit again."""
        fit = self.fit
        parts = {"spec": fit.spec, "dataset": fit.dataset, "features": fit.features}
        measure, delta = self.loss.measure.value, str(self.price_delta)
        told = {"fit": parts | {"target": fit.target}, "measure": [measure, delta]}
        return told | _time_asked(self.time)


def _time_asked(time: PricedTime | None) -> dict[str, Any]:
    """Return the part of a worker's request that is about the time of the answer."""
    return {} if time is None else {"time": time.to_dict()}


def time_in(request: dict[str, Any]) -> PricedTime | None:
    """Return the priced time in the request that a worker process received."""
    return PricedTime.from_dict(request["time"]) if "time" in request else None


def _plugins_in(value: object) -> Iterator[str]:
    """Yield the plug-in of a model, and those of the models in its settings, at any depth."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _plugins_in(part)
        return
    if isinstance(plugin := getattr(value, "plugin", None), str):
        yield plugin
    if hasattr(value, "get_params"):
        yield from _plugins_in(value.get_params(deep=False))


def price_fit(  # noqa: PLR0913, PLR0917 - a fit, its measure and its time
    fit: Fit,
    estimator: Estimator[Gateway],
    catalog: core.Catalog,
    measure: core.Measure,
    price_delta: Fraction = Fraction(0),
    time: PricedTime | None = None,
) -> FitQuote:
    """Return the quote for fitting ``estimator``, which ``fit`` describes as text.

    The estimator's first request is computed but not sent to an engine, so that invalid
    settings are found here, before anything is charged.

    Guarantee: no data is read.
    """
    training = training_of(Scan(fit.dataset), fit.features, fit.target, catalog)
    event = estimator.event(training)
    next(estimator.steps(training, _NO_GATEWAY), None)
    loss = price(event, measure, price_delta).loss(measure)  # rounded to the ledger's units
    return FitQuote(fit, estimator, training, event, loss, price_delta, time)


def delta_for_each(event: core.Event, delta: Fraction) -> Fraction:
    """Return the part of ``delta`` for each release, under (epsilon, delta)."""
    return delta / max(1, sum(times for _, times in leaves(event)))


class _NoGateway:
    """A gateway for pricing, when an estimator has not received any secret to open."""

    def release(self, *_: object) -> Any:
        raise NotImplementedError

    def select(self, *_: object) -> Any:
        raise NotImplementedError


_NO_GATEWAY: Gateway = _NoGateway()


# The preview of a fit ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class FitPreview:
    """The price of a fit and the state of the budget; it is free and independent of data."""

    standing: core.BudgetSummary
    assumptions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        standing = self.standing
        fits = f"{standing.more} such fits are" if standing.more != 1 else "1 such fit is"
        lines = [
            f"Price: {standing.price}; about {fits} left.",
            f"Spent about {standing.population}: {standing.progress}.",
            *([standing.stopped] if standing.stopped else ()),
            *(f"It assumes that {each}." for each in self.assumptions),
        ]
        return "\n".join(lines)
