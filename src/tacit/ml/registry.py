"""The models that have a name: as text they are that name and public settings, never code."""

import json
from typing import Any

from tacit.errors import InvalidValue, UnknownName
from tacit.extras import load

MODELS = {
    "ClassifierChoice": "tacit.ml.classifier_choice",
    "CrossValidation": "tacit.ml.cross_validation",
    "GaussianNB": "tacit.ml.naive_bayes",
    "HuberRegression": "tacit.ml.huber_regression",
    "KMeans": "tacit.ml.k_means",
    "LinearRegression": "tacit.ml.linear_regression",
    "LinearSVC": "tacit.ml.linear_svc",
    "LogisticRegression": "tacit.ml.logistic_regression",
    "ModelSearch": "tacit.ml.model_search",
    "OutputPerturbation": "tacit.ml.output_perturbation",
    "PCA": "tacit.ml.pca",
    "Pipeline": "tacit.ml.pipeline",
    "QuantileRegression": "tacit.ml.quantile_regression",
    "StandardScaler": "tacit.ml.standard_scaler",
}
"""Models by name, and the modules that are loaded when one is first asked for."""


def spec_of(model: Any) -> str:
    """The text of a model: its name and its settings, as canonical JSON.

    Example:
        >>> from tacit.ml.linear_regression import LinearRegression
        >>> spec_of(LinearRegression(epsilon=0.5, bounds=(0, [1, 2]), target_bounds=(0, 1)))[
        ...     :45
        ... ]
        '{"model":"LinearRegression","settings":{"boun'
    """
    return json.dumps(_told(model), sort_keys=True, separators=(",", ":"), allow_nan=False)


def estimator_of(model: Any) -> Any:
    """What a session drives: the model itself, and of scikit-learn's pipelines our own."""
    if (type(model).__module__, type(model).__name__) == ("sklearn.pipeline", "Pipeline"):
        return load(MODELS["Pipeline"], extra="ml").Pipeline(model.steps)
    return model


def _told(model: Any) -> dict[str, Any]:
    """A model as JSON holds it."""
    model = estimator_of(model)
    name = type(model).__name__
    if MODELS.get(name) != type(model).__module__:
        raise InvalidValue(
            f"{name} is no model that a session fits; these are: {', '.join(MODELS)}."
        )
    return {"model": name, "settings": _plain(model.get_params(deep=False))}


def model_of(spec: str) -> Any:
    """The model whose text is ``spec``, not fitted; anything else is refused.

    Guarantee: ``spec_of(model_of(spec_of(model))) == spec_of(model)``.

    Example:
        >>> model_of('{"model":"LinearRegression","settings":{"epsilon":0.5}}').epsilon
        0.5
    """
    try:
        stored = json.loads(spec)
    except (TypeError, RecursionError, ValueError):
        stored = None
    if not _is_model(stored):
        raise InvalidValue('A model is told as {"model": a name, "settings": {...}}.')
    return _made(stored)


def _is_model(stored: Any) -> bool:
    """Whether ``stored`` has the shape of a model's text."""
    told = isinstance(stored, dict) and stored.keys() == {"model", "settings"}
    return told and isinstance(stored["model"], str) and isinstance(stored["settings"], dict)


def _made(stored: Any) -> Any:
    """What ``stored`` tells: a model, with those that it is made of, or a plain setting."""
    if isinstance(stored, list):
        return [_made(part) for part in stored]
    if not _is_model(stored):
        return stored
    name = stored["model"]
    settings = {key: _made(part) for key, part in stored["settings"].items()}
    if name not in MODELS:
        raise UnknownName(f"There is no model {name!r}; there are: {', '.join(MODELS)}.")
    made = getattr(load(MODELS[name], extra="ml"), name)
    unknown = sorted(settings.keys() - made().get_params(deep=False).keys())
    if unknown:
        raise UnknownName(f"{name} has no settings called {', '.join(unknown)}.")
    return made(**settings)


def _plain(value: Any) -> Any:
    """A setting as JSON holds it: numbers, text, truths, nothing, and lists of these."""
    value = value.tolist() if hasattr(value, "tolist") else value
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_plain(part) for part in value]
        case dict():
            return {str(key): _plain(part) for key, part in value.items()}
        case _ if hasattr(value, "get_params"):
            return _told(value)  # a model that another is made of
    raise InvalidValue(
        "A setting of a model is a number, text or a list of these, and no "
        f"{type(value).__name__}."
    )
