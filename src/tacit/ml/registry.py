"""Models by name: validation of their settings, and their form as JSON text.

A model is stored and sent over HTTP as its name and its public settings, never as code.
Settings come from untrusted clients. This module validates them before anything is priced or
charged: they must be plain values (numbers, text, lists, other models) of a reasonable size.
The model's own checks come after.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from tacit.core import Answer, parameters_in
from tacit.errors import InvalidValue, TacitError, UnknownName
from tacit.extras import ESTIMATORS, find_plugin, load, named_plugins

LARGEST = 1e100
"""The largest absolute value of a number."""

LEAST = 1e-100
"""The smallest absolute value of a number that is not 0.

Within these limits, squares of settings and products of three are floats that are neither 0 nor
infinite. No guarantee relies on the limits, because sums are bounded for any number
(docs/privacy/numbers.md). They reject settings that are of no use before anything is charged.
"""

MOST = 10_000
"""The largest integer setting, which counts steps, clusters or components."""

DEEPEST = 3
"""The largest depth of nested lists, and of nested models."""

SHOWN = 60
"""Number of characters of a given value that an error message repeats."""


def check_settings(made: type, settings: Mapping[str, Any]) -> None:
    """Check that settings have the names and types of the constructor of ``made``.

    Example:
        >>> from tacit.ml.k_means import KMeans
        >>> check_settings(KMeans, {"n_clusters": 3, "bounds": [0, [1, 2.5]]})
        >>> check_settings(KMeans, {"n_clusters": 10**9})
        Traceback (most recent call last):
        tacit.errors.InvalidValue: KMeans takes n_clusters as int up to 10000, not 1000000000.
    """
    known = get_type_hints(made.__init__)  # type: ignore[misc] # the class itself, no subclass
    known.pop("return", None)
    unknown = sorted(settings.keys() - known.keys())
    if unknown:
        raise UnknownName(
            f"{made.__name__} has no settings called {', '.join(unknown)[:SHOWN]}; its "
            f"settings are {', '.join(known)}."
        )
    for name, value in settings.items():
        wanted = get_args(known[name]) or (known[name],)
        if not any(_has_type(value, kind) for kind in wanted):
            allowed = " or ".join(NAMES.get(kind, PLAIN) for kind in wanted)
            raise InvalidValue(
                f"{made.__name__} takes {name} as {allowed}, not {_excerpt(value)}."
            )


def is_model(stored: Any) -> bool:
    """Return whether decoded JSON has the form of a model: a name and settings."""
    keys = isinstance(stored, dict) and stored.keys() == {"model", "settings"}
    return keys and isinstance(stored["model"], str) and isinstance(stored["settings"], dict)


@contextmanager
def refusing(model: str) -> Iterator[None]:
    """Raise InvalidValue where a model fails because of its settings.

    The code inside this context must not have read any data, so that the failure is public.
    """
    try:
        yield
    except TacitError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise InvalidValue(
            f"{model} cannot be fitted to these columns with these settings; see the "
            "documentation of its settings."
        ) from error


PLAIN = f"text, lists and plain numbers, 0 or from {LEAST:g} to {LARGEST:g} either side of it"

NAMES: dict[Any, str] = {
    bool: "true or false",
    int: f"int up to {MOST}",
    float: f"a finite number, 0 or from {LEAST:g} to {LARGEST:g} either side of it",
    str: "text",
    NoneType: "nothing",
}


def _has_type(value: Any, kind: Any) -> bool:
    """Return whether the value of a setting has the type ``kind``.

    For other types than None, bool, str, int and float, any JSON value is accepted.
    """
    if kind is NoneType or kind is bool or kind is str:
        return isinstance(value, kind)
    if kind is int:
        return _is_whole(value) and abs(value) <= MOST
    return _is_number(value) if kind is float else _is_plain(value, DEEPEST)


def _is_plain(value: Any, deep: int) -> bool:
    if is_model(value):
        return True  # its settings are checked when the model is built
    match value:
        case None | bool() | str():
            return True
        case list() | tuple():
            return deep > 0 and all(_is_plain(part, deep - 1) for part in value)
        case dict():
            return deep > 0 and all(_is_plain(part, deep - 1) for part in value.values())
    return _is_number(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    # NaN fails both comparisons
    if not (_is_whole(value) or isinstance(value, float)):
        return False
    return bool(value == 0 or LEAST <= abs(value) <= LARGEST)


def _excerpt(value: Any) -> str:
    """Return the beginning of a given value, for an error message.

    Lists and objects are not shown, because they can be very large.
    """
    if isinstance(value, list | tuple | dict):
        return "a list or object of other values"
    if _is_whole(value) and abs(value) > LARGEST:
        return "a larger number"
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


# ------------------------------------------------------------------ models by name

Plugins = Mapping[str, str]
"""Plug-ins that the project file names: a distribution's name and its exact version."""

NO_PLUGINS: Plugins = {}

Model = TypeVar("Model")
"""The type of a model that is fitted and returned."""

MODELS = {
    "ClassifierChoice": "tacit.ml.model_selection",
    "CrossValidation": "tacit.ml.model_selection",
    "GaussianNB": "tacit.ml.naive_bayes",
    "HuberRegression": "tacit.ml.huber_regression",
    "KMeans": "tacit.ml.k_means",
    "LinearRegression": "tacit.ml.linear_regression",
    "LinearSVC": "tacit.ml.linear_classifiers",
    "LogisticRegression": "tacit.ml.linear_classifiers",
    "ModelSearch": "tacit.ml.model_selection",
    "OutputPerturbation": "tacit.ml.output_perturbation",
    "PCA": "tacit.ml.pca",
    "Pipeline": "tacit.ml.pipeline",
    "QuantileRegression": "tacit.ml.quantile_regression",
    "StandardScaler": "tacit.ml.pipeline",
}
"""The names of the models, and the modules that are imported when a model is first used."""


def spec_of(model: Any, plugins: Plugins = NO_PLUGINS) -> str:
    """Return the name and the settings of a model as canonical JSON.

    Example:
        >>> from tacit.ml.linear_regression import LinearRegression
        >>> spec_of(LinearRegression(epsilon=0.5, bounds=(0, [1, 2]), target_bounds=(0, 1)))[
        ...     :45
        ... ]
        '{"model":"LinearRegression","settings":{"boun'
    """
    document = _to_json(model, plugins)
    try:
        return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise InvalidValue(
            f"The settings of {document['model']} are stored as JSON, which has no NaN and no "
            "infinity; use finite numbers."
        ) from error


def estimator_of(model: Any) -> Any:
    """Return the estimator that a session fits.

    This is the model itself, or our own `Pipeline` for a pipeline of scikit-learn.
    """
    if (type(model).__module__, type(model).__name__) == ("sklearn.pipeline", "Pipeline"):
        return _class_of("Pipeline")(model.steps)
    return model


def learn_from(model: Model, release: Answer, features: Sequence[str]) -> Model:
    """Store the parameters of ``release``, and the release itself, in ``model``; return it."""
    estimator_of(model).learn(parameters_in(release), release.guarantee, features)
    learned: Any = model  # a pipeline of scikit-learn shares its steps with our own
    learned.guarantee_, learned.release_ = release.guarantee, release
    return model


def cross_validation_of(model: Any, folds: int, epsilon: float, delta: float) -> Any:
    """Return the estimator that scores ``model`` by cross-validation."""
    made = _class_of("CrossValidation")
    return made(model, folds=folds, epsilon=epsilon, delta=delta)


def _to_json(model: Any, plugins: Plugins) -> dict[str, Any]:
    """Return a model as a dictionary that JSON can encode."""
    model = estimator_of(model)
    name = type(model).__name__
    ours = name in MODELS and type(model) is _class_of(name)
    if not ours and not _is_plugin(model, plugins):
        raise InvalidValue(
            f"A session cannot fit a {name}; the supported models are {', '.join(MODELS)}. "
            "To fit a model of a plug-in, name the plug-in under [plugins] in the project file."
        )
    return {"model": name, "settings": _to_plain(model.get_params(deep=False), plugins)}


def _class_of(name: str) -> Any:
    """Import and return the class of a named model."""
    return getattr(load(MODELS[name], extra="ml"), name)


def _is_plugin(model: Any, plugins: Plugins) -> bool:
    """Return whether a model is of a class that an allowed plug-in brings under its name."""
    name = type(model).__name__
    if name in MODELS:
        return False  # no plug-in takes the place of a model of Tacit's own
    found = find_plugin(ESTIMATORS, name, plugins)
    return found is not None and found.load() is type(model)


def load_estimators(plugins: Plugins) -> tuple[str, ...]:
    """Load all estimators of allowed plug-ins and return their names.

    A session loads them when it opens, so that the owner sees a failure before any charge.

    Raises:
        InvalidValue: One fails, or takes the name of a model of Tacit's own or of another
            plug-in.
    """
    names = []
    for plugin in named_plugins(ESTIMATORS, plugins):
        find_plugin(ESTIMATORS, plugin.name, plugins)  # refuses two of one name
        if plugin.name in MODELS:
            raise InvalidValue(
                f"The plug-in {plugin} brings an estimator called {plugin.name!r}, which is "
                "the name of one of Tacit's. Ask the author of the plug-in to rename it."
            )
        if getattr(plugin.load(), "__name__", None) != plugin.name:
            raise InvalidValue(
                f"The entry point {plugin.name!r} of the plug-in {plugin} must name a class "
                "that is called the same. Ask the author of the plug-in."
            )
        names.append(plugin.name)
    return tuple(names)


def model_of(spec: str, plugins: Plugins = NO_PLUGINS) -> Any:
    """Return the unfitted model that ``spec`` describes.

    Guarantee: ``spec_of(model_of(spec_of(model))) == spec_of(model)``.

    Example:
        >>> model_of('{"model":"LinearRegression","settings":{"epsilon":0.5}}').epsilon
        0.5
    """
    try:
        stored = json.loads(spec)
    except (TypeError, RecursionError, ValueError):
        stored = None
    if not is_model(stored):
        raise InvalidValue('A model must be given as {"model": a name, "settings": {...}}.')
    return model_named(stored["model"], stored["settings"], plugins=plugins)


def model_named(
    name: str,
    settings: Mapping[str, Any],
    deep: int = DEEPEST,
    plugins: Plugins = NO_PLUGINS,
) -> Any:
    """Return the unfitted model with this name and these public settings.

    Settings can be models in the same form, nested up to a depth of ``deep``.

    Example:
        >>> model_named("KMeans", {"n_clusters": 3}).n_clusters
        3
    """
    plugin = None if name in MODELS else find_plugin(ESTIMATORS, name, plugins)
    if name not in MODELS and plugin is None:
        # analysts read this: it does not tell what else is installed
        raise UnknownName(f"There is no model {name!r:.60}; there are: {', '.join(MODELS)}.")
    made = plugin.load() if plugin else _class_of(name)
    check_settings(made, settings)
    built = {key: _build_setting(part, deep, plugins) for key, part in settings.items()}
    if plugin is None:
        return made(**built)
    try:
        model = made(**built)
    except Exception as error:
        raise InvalidValue(
            f"The model {name!r} of the plug-in {plugin} cannot be made with these settings "
            f"({type(error).__name__}). Correct them by the documentation of the plug-in."
        ) from error
    model.plugin = str(plugin)  # its guarantee names it
    return model


def _build_setting(stored: Any, deep: int, plugins: Plugins) -> Any:
    """Return a setting of a model from its stored form: a plain value or another model."""
    if isinstance(stored, list):
        return [_build_setting(part, deep, plugins) for part in stored]
    if not is_model(stored):
        return stored
    if deep == 0:
        raise InvalidValue(f"Models can be nested at most {DEEPEST} deep.")
    return model_named(stored["model"], stored["settings"], deep - 1, plugins)


def _to_plain(value: Any, plugins: Plugins) -> Any:
    """Return a setting as values that JSON can encode."""
    value = value.tolist() if hasattr(value, "tolist") else value
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_to_plain(part, plugins) for part in value]
        case dict():
            return {str(key): _to_plain(part, plugins) for key, part in value.items()}
        case _ if hasattr(value, "get_params"):
            return _to_json(value, plugins)  # a model that another is made of
    raise InvalidValue(
        "A setting of a model must be a number, text or a list of these, not a "
        f"{type(value).__name__}."
    )
