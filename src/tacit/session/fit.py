"""Fit: the path of a model, which is that of a question; its answer is its parameters."""

from collections.abc import Sequence
from typing import Any

from tacit.core.answer import Answer
from tacit.core.measure import Measure
from tacit.ml.registry import Model, model_of, spec_of, taught
from tacit.ml.settings import refusing
from tacit.numeric.exact import exact
from tacit.plan.relation import Scan
from tacit.plan.training import training_of
from tacit.query.fit_preview import FitPreview
from tacit.query.fit_quote import Fit, FitQuote, delta_for_each, price_fit
from tacit.session.ask import paid_for
from tacit.session.curator import Curator
from tacit.session.standing import standing_of


def fit(  # noqa: PLR0913, PLR0917 - a model, and what it is fitted to
    curator: Curator,
    model: Model,
    dataset: str,
    features: Sequence[str],
    target: str | None,
    request: str | None = None,
) -> Model:
    """``model`` with the parameters that were paid for: priced, charged, and only then run.

    Guarantee: what is run is the model that its text tells, of which the price was made.
    """
    quote = quote_of(curator, model, dataset, features, target)
    release, standing, key = paid_for(curator, quote, request)
    return taught(model, Answer.of(release, standing, key), features)


def preview(
    curator: Curator, model: Any, dataset: str, features: Sequence[str], target: str | None
) -> FitPreview:
    """What fitting ``model`` would cost."""
    quote = quote_of(curator, model, dataset, features, target)
    status = curator.home.ledger.status(quote.population.name, curator.principal)
    return FitPreview(standing_of(status, quote, paid=True), quote.assumptions)


def quote_of(
    curator: Curator, model: Any, dataset: str, features: Sequence[str], target: str | None
) -> FitQuote:
    """The price of ``model``, in the measure of the budget of the people it is about."""
    asked = Fit(spec_of(model, curator.plugins), dataset, tuple(features), target)
    catalog, told = curator.catalog, model_of(asked.spec, curator.plugins)
    measure = curator.home.ledger.status(catalog.dataset(dataset).population).measure
    delta = exact(0)
    with refusing(type(told).__name__):
        if measure is Measure.APPROXIMATE:
            event = told.event(training_of(Scan(dataset), features, target, catalog))
            delta = delta_for_each(event, exact(told.delta))
        return price_fit(asked, told, catalog, measure, delta)
