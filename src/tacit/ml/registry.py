"""The models that have a name: as text they are that name and public settings, never code."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tacit.core.answer import Answer
from tacit.core.parameter import parameters_in
from tacit.errors import InvalidValue, UnknownName
from tacit.extras import ESTIMATORS, find_plugin, load, named_plugins
from tacit.ml.settings import DEEPEST, check_settings, is_model

Plugins = Mapping[str, str]
"""Plug-ins that the project file names: a distribution's name and its exact version."""

NO_PLUGINS: Plugins = {}

Model = TypeVar("Model")
"""What is fitted comes back fitted, whichever it is."""

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


def spec_of(model: Any, plugins: Plugins = NO_PLUGINS) -> str:
    """The text of a model: its name and its settings, as canonical JSON.

    Example:
        >>> from tacit.ml.linear_regression import LinearRegression
        >>> spec_of(LinearRegression(epsilon=0.5, bounds=(0, [1, 2]), target_bounds=(0, 1)))[
        ...     :45
        ... ]
        '{"model":"LinearRegression","settings":{"boun'
    """
    told = _told(model, plugins)
    try:
        return json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise InvalidValue(
            f"{told['model']} is told as JSON, which has no NaN and no infinity; give it "
            "finite numbers."
        ) from error


def estimator_of(model: Any) -> Any:
    """What a session drives: the model itself, and of scikit-learn's pipelines our own."""
    if (type(model).__module__, type(model).__name__) == ("sklearn.pipeline", "Pipeline"):
        return _class_of("Pipeline")(model.steps)
    return model


def taught(model: Model, release: Answer, features: Sequence[str]) -> Model:
    """``model`` with the parameters of ``release``, which it keeps."""
    estimator_of(model).learn(parameters_in(release), release.guarantee, features)
    learned: Any = model  # a pipeline of scikit-learn has what its steps have
    learned.guarantee_, learned.release_ = release.guarantee, release
    return model


def folded(model: Any, folds: int, epsilon: float, delta: float) -> Any:
    """What fits ``model`` fold by fold, and scores it."""
    made = _class_of("CrossValidation")
    return made(model, folds=folds, epsilon=epsilon, delta=delta)


def _told(model: Any, plugins: Plugins) -> dict[str, Any]:
    """A model as JSON holds it."""
    model = estimator_of(model)
    name = type(model).__name__
    ours = name in MODELS and type(model) is _class_of(name)
    if not ours and not _is_plugin(model, plugins):
        raise InvalidValue(
            f"{name} is no model that a session fits; these are: {', '.join(MODELS)}. A model "
            "of a plug-in is fitted where the project file names the plug-in, below [plugins]."
        )
    return {"model": name, "settings": _plain(model.get_params(deep=False), plugins)}


def _class_of(name: str) -> Any:
    """The class of a model that has a name."""
    return getattr(load(MODELS[name], extra="ml"), name)


def _is_plugin(model: Any, plugins: Plugins) -> bool:
    """Whether a model is of a class that an allowed plug-in brings under its name."""
    name = type(model).__name__
    if name in MODELS:
        return False  # no plug-in takes the place of a model of Tacit's own
    found = find_plugin(ESTIMATORS, name, plugins)
    return found is not None and found.load() is type(model)


def load_estimators(plugins: Plugins) -> tuple[str, ...]:
    """Load all estimators of allowed plug-ins, so that a failure is an owner's; their names.

    Raises:
        InvalidValue: One fails, or takes the name of a model of Tacit's own.
    """
    names = []
    for plugin in named_plugins(ESTIMATORS, plugins):
        if plugin.name in MODELS:
            raise InvalidValue(
                f"The plug-in {plugin} brings {plugin.name!r}, which is Tacit's."
            )
        if getattr(plugin.load(), "__name__", None) != plugin.name:
            raise InvalidValue(f"The plug-in {plugin} brings no class called {plugin.name!r}.")
        names.append(plugin.name)
    return tuple(names)


def model_of(spec: str, plugins: Plugins = NO_PLUGINS) -> Any:
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
    if not is_model(stored):
        raise InvalidValue('A model is told as {"model": a name, "settings": {...}}.')
    return model_named(stored["model"], stored["settings"], plugins=plugins)


def model_named(
    name: str,
    settings: Mapping[str, Any],
    deep: int = DEEPEST,
    plugins: Plugins = NO_PLUGINS,
) -> Any:
    """The model of a name with public settings, not fitted; anything else is refused.

    Settings can be models, which are told in the same way, ``deep`` in one another at most.

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
    model = made(**{key: _made(part, deep, plugins) for key, part in settings.items()})
    if plugin is not None:
        model.plugin = str(plugin)  # its guarantee names it
    return model


def _made(stored: Any, deep: int, plugins: Plugins) -> Any:
    """A setting as it is used: a plain one, or a model that another is made of."""
    if isinstance(stored, list):
        return [_made(part, deep, plugins) for part in stored]
    if not is_model(stored):
        return stored
    if deep == 0:
        raise InvalidValue(f"Models stand in one another {DEEPEST} deep at most.")
    return model_named(stored["model"], stored["settings"], deep - 1, plugins)


def _plain(value: Any, plugins: Plugins) -> Any:
    """A setting as JSON holds it: numbers, text, truths, nothing, and lists of these."""
    value = value.tolist() if hasattr(value, "tolist") else value
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_plain(part, plugins) for part in value]
        case dict():
            return {str(key): _plain(part, plugins) for key, part in value.items()}
        case _ if hasattr(value, "get_params"):
            return _told(value, plugins)  # a model that another is made of
    raise InvalidValue(
        "A setting of a model is a number, text or a list of these, and no "
        f"{type(value).__name__}."
    )
