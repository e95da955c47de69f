"""What a setting of a model may be: plain, and neither larger nor smaller than a fit needs.

Settings come from anybody, over HTTP too. They are looked at here, before anything is priced or
charged, and a model's own rules come after.
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
"""The largest number, either side of 0."""

LEAST = 1e-100
"""The least number that is not 0, either side of it.

Squares of settings, and products of three, are then floats that are neither 0 nor infinite. No
guarantee rests on it: sums are bounded for any number (docs/privacy/numbers.md). It refuses
settings that no fit is meant to have, before anything is charged.
"""

MOST = 10_000
"""The largest whole number that counts something: steps, clusters, components."""

DEEPEST = 3
"""How many lists may stand in one another, and how many models."""

SHOWN = 60
"""Characters of what was given that a refusal repeats."""


def check_settings(made: type, settings: Mapping[str, Any]) -> None:
    """Refuse settings that ``made`` does not have, or of other types than its constructor says.

    Example:
        >>> from tacit.ml.k_means import KMeans
        >>> check_settings(KMeans, {"n_clusters": 3, "bounds": [0, [1, 2.5]]})
        >>> check_settings(KMeans, {"n_clusters": 10**9})
        Traceback (most recent call last):
        tacit.errors.InvalidValue: KMeans takes n_clusters as int up to 10000, not 1000000000.
    """
    known = get_type_hints(made.__init__)  # type: ignore[misc] # of the class that was named
    known.pop("return", None)
    unknown = sorted(settings.keys() - known.keys())
    if unknown:
        raise UnknownName(
            f"{made.__name__} has no settings called {', '.join(unknown)[:SHOWN]}; it has: "
            f"{', '.join(known)}."
        )
    for name, value in settings.items():
        wanted = get_args(known[name]) or (known[name],)
        if not any(_is(value, kind) for kind in wanted):
            allowed = " or ".join(NAMES.get(kind, PLAIN) for kind in wanted)
            raise InvalidValue(
                f"{made.__name__} takes {name} as {allowed}, not {_shown(value)}."
            )


def is_model(stored: Any) -> bool:
    """Whether ``stored`` has the shape of a model's text."""
    told = isinstance(stored, dict) and stored.keys() == {"model", "settings"}
    return told and isinstance(stored["model"], str) and isinstance(stored["settings"], dict)


@contextmanager
def refusing(model: str) -> Iterator[None]:
    """Whatever a model's settings make impossible, as a refusal: nothing here has seen data."""
    try:
        yield
    except TacitError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise InvalidValue(
            f"{model} cannot be fitted with these settings to these columns; its page says "
            "what each setting is."
        ) from error


PLAIN = f"text, lists and plain numbers, 0 or from {LEAST:g} to {LARGEST:g} either side of it"

NAMES: dict[Any, str] = {
    bool: "true or false",
    int: f"int up to {MOST}",
    float: f"a finite number, 0 or from {LEAST:g} to {LARGEST:g} either side of it",
    str: "text",
    NoneType: "nothing",
}


def _is(value: Any, kind: Any) -> bool:
    """Whether a setting is of a kind; of one that is not in the list, whether it is plain."""
    if kind is NoneType or kind is bool or kind is str:
        return isinstance(value, kind)
    if kind is int:
        return _is_whole(value) and abs(value) <= MOST
    return _is_number(value) if kind is float else _is_plain(value, DEEPEST)


def _is_plain(value: Any, deep: int) -> bool:
    if is_model(value):
        return True  # its settings are looked at when it is made
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
    # what is no number at all compares with nothing
    if not (_is_whole(value) or isinstance(value, float)):
        return False
    return bool(value == 0 or LEAST <= abs(value) <= LARGEST)


def _shown(value: Any) -> str:
    """The beginning of what was given, where it is no nest: its text may be endless."""
    if isinstance(value, list | tuple | dict):
        return "a list of other things"
    if _is_whole(value) and abs(value) > LARGEST:
        return "a number beyond all"
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


# ------------------------------------------------------------------ registry
# The models that have a name: as text they are that name and public settings, never code.

Plugins = Mapping[str, str]
"""Plug-ins that the project file names: a distribution's name and its exact version."""

NO_PLUGINS: Plugins = {}

Model = TypeVar("Model")
"""What is fitted comes back fitted, whichever it is."""

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
