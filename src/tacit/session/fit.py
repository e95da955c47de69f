"""Fit: the path of a model, which is that of a question; its answer is its parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tacit.core.answer import Answer
from tacit.core.measure import Measure
from tacit.core.parameter import parameters_in
from tacit.core.standing import Standing, rounded
from tacit.extras import load
from tacit.ml.registry import estimator_of, model_of, spec_of
from tacit.numeric.exact import exact
from tacit.plan.relation import Scan
from tacit.plan.training import training_of
from tacit.query.fit_quote import Fit, FitQuote, delta_for_each, price_fit
from tacit.session.ask import paid_for
from tacit.session.curator import Curator
from tacit.session.standing import standing_of

Model = TypeVar("Model")


@dataclass(frozen=True, slots=True, repr=False)
class FitPreview:
    """What a fit would cost: free, and the same whatever stands in the tables."""

    quote: FitQuote
    standing: Standing

    def __repr__(self) -> str:
        standing = self.standing
        fits = f"{standing.more} such fits are" if standing.more != 1 else "1 such fit is"
        spent = f"{rounded(standing.spent)} of {rounded(standing.cap)}"
        lines = [
            f"Price: {rounded(standing.cost)}; about {fits} left.",
            f"Spent about {standing.population}: {spent}.",
            *(f"It assumes that {each}." for each in self.quote.assumptions),
        ]
        return "\n".join(lines)


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
    estimator_of(model).learn(parameters_in(release), release.guarantee, features)
    learned: Any = model  # a pipeline of scikit-learn has what its steps have
    learned.guarantee_, learned.release_ = (
        release.guarantee,
        Answer.of(release, standing, key),
    )
    return model


def folded(model: Any, folds: int, epsilon: float, delta: float) -> Any:
    """What fits ``model`` fold by fold, and scores it."""
    made = load("tacit.ml.cross_validation", extra="ml").CrossValidation
    return made(model, folds=folds, epsilon=epsilon, delta=delta)


def preview(
    curator: Curator, model: Any, dataset: str, features: Sequence[str], target: str | None
) -> FitPreview:
    """What fitting ``model`` would cost."""
    quote = quote_of(curator, model, dataset, features, target)
    status = curator.home.ledger.status(quote.population.name)
    return FitPreview(quote, standing_of(status, quote, paid=True))


def quote_of(
    curator: Curator, model: Any, dataset: str, features: Sequence[str], target: str | None
) -> FitQuote:
    """The price of ``model``, in the measure of the budget of the people it is about."""
    asked = Fit(spec_of(model), dataset, tuple(features), target)
    catalog, told = curator.catalog, model_of(asked.spec)
    measure = curator.home.ledger.status(catalog.dataset(dataset).population).measure
    delta = exact(0)
    if measure is Measure.APPROXIMATE:
        event = told.event(training_of(Scan(dataset), features, target, catalog))
        delta = delta_for_each(event, exact(told.delta))
    return price_fit(asked, told, catalog, measure, delta)
