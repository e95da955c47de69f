"""The models that have a name: as text they are that name and public settings, never code."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from tacit.errors import InvalidValue, UnknownName
from tacit.extras import load
from tacit.ml.settings import check_settings

Model = TypeVar("Model")
"""What is fitted comes back fitted, whichever it is."""

MODELS = {
    "GaussianNB": "tacit.ml.naive_bayes",
    "HuberRegression": "tacit.ml.huber_regression",
    "KMeans": "tacit.ml.k_means",
    "LinearRegression": "tacit.ml.linear_regression",
    "LogisticRegression": "tacit.ml.logistic_regression",
    "PCA": "tacit.ml.pca",
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
    name = type(model).__name__
    if MODELS.get(name) != type(model).__module__:
        raise InvalidValue(
            f"{name} is no model that a session fits; these are: {', '.join(MODELS)}."
        )
    stored = {"model": name, "settings": _plain(model.get_params(deep=False))}
    try:
        return json.dumps(stored, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise InvalidValue(
            f"{name} is told as JSON, which has no NaN and no infinity; give it finite numbers."
        ) from error


def model_of(spec: str) -> Any:
    """The model whose text is ``spec``, not fitted; anything else is refused.

    Guarantee: ``spec_of(model_of(spec_of(model))) == spec_of(model)``.

    Example:
        >>> model_of('{"model":"LinearRegression","settings":{"epsilon":0.5}}').epsilon
        0.5
    """
    try:
        stored = json.loads(spec)
        name, settings = str(stored["model"]), dict(stored["settings"])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue(
            'A model is told as {"model": a name, "settings": {...}}.'
        ) from error
    return model_named(name, settings)


def model_named(name: str, settings: Mapping[str, Any]) -> Any:
    """The model of a name with public settings, not fitted; anything else is refused.

    Example:
        >>> model_named("KMeans", {"n_clusters": 3}).n_clusters
        3
    """
    if name not in MODELS:
        raise UnknownName(f"There is no model {name!r:.60}; there are: {', '.join(MODELS)}.")
    made = getattr(load(MODELS[name], extra="ml"), name)
    check_settings(made, settings)
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
    raise InvalidValue(
        "A setting of a model is a number, text or a list of these, and no "
        f"{type(value).__name__}."
    )
