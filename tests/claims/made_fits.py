"""Generated fits: settings of every exponent, rows that are equal, tiny, huge or missing.

A fit has a number, and everything about it follows from that number: the model, its settings,
two neighbouring tables and the rows of the person in whom they differ. `outcome` records the
fit to one table and replays it on the other, so that every batch of integers to which noise is
added is compared with what is declared of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.privacy_unit import Neighbours
from tacit.engines.reference import Reference
from tacit.errors import InternalError
from tacit.ml.estimator import Arrays
from tacit.ml.huber_regression import HuberRegression
from tacit.ml.k_means import KMeans
from tacit.ml.linear_classifiers import LinearSVC, LogisticRegression
from tacit.ml.linear_regression import LinearRegression
from tacit.ml.model_selection import ClassifierChoice, CrossValidation, ModelSearch
from tacit.ml.naive_bayes import GaussianNB
from tacit.ml.output_perturbation import OutputPerturbation
from tacit.ml.pca import PCA
from tacit.ml.pipeline import Pipeline, StandardScaler
from tacit.ml.quantile_regression import QuantileRegression
from tacit.numeric.entropy import SystemEntropy
from tacit.query.paid_work import Data, drive

Row = tuple[float | None, float | None, float | None]

REFUSED, FITTED = "refused", "fitted"

TINY, HUGE = 5e-324, 1.7e308


def number(draw: Generator) -> float:
    """A setting above 0 of any exponent of a float, the denormal ones among them; or 0."""
    kind = draw.integers(10)
    if kind == 0:
        return float(draw.choice([0.0, TINY, 1e-308, 1e308, HUGE]))
    if kind <= 3:  # ordinary, so that what is beside it is reached
        return float(10.0 ** draw.uniform(-3, 3))
    return float(draw.uniform(1, 10) * 10.0 ** draw.integers(-323, 308))


def scale_like(draw: Generator) -> float:
    """A setting above 0 that is mostly within what settings may be."""
    if draw.integers(4):
        return float(draw.uniform(1, 10) * 10.0 ** draw.integers(-100, 100))
    return number(draw)


def bounds(draw: Generator, columns: int = 2) -> Any:
    """Bounds of features: of any width, around 0 or not."""
    if draw.integers(3) == 0:
        return (-1.0, 1.0)
    ends = []
    for _ in range(columns):
        width, low = scale_like(draw), float(draw.choice([0.0, -1.0, 1.0]))
        ends.append((low * width, low * width + width))
    return [low for low, _ in ends], [high for _, high in ends]


def loss(draw: Generator) -> dict[str, float]:
    """Epsilon and delta: mostly ordinary, and else of any exponent up to that of settings."""
    if draw.integers(4):
        return {"epsilon": float(draw.choice([0.01, 1.0, 5.0])), "delta": 1e-6}
    return {
        "epsilon": float(10.0 ** draw.uniform(-8 if draw.integers(3) else -100, 4)),
        "delta": float(10.0 ** draw.uniform(-30, -1)),
    }


def aims(draw: Generator, columns: int) -> Any:
    """Bounds of a target, which holds whole numbers: mostly such as hold some."""
    if draw.integers(4):
        return (-1.0, 2.0) if draw.integers(2) else (0, float(10.0 ** draw.uniform(0, 9)))
    return bounds(draw, columns)


def _descent(draw: Generator) -> dict[str, Any]:
    clip = scale_like(draw)
    scales = None
    if draw.integers(2):
        scales = scale_like(draw) if draw.integers(2) else [scale_like(draw), scale_like(draw)]
    if draw.integers(2):
        # features of any exponent, no constant beside them, and a clip that is not far off
        ends = (-180, -150) if draw.integers(2) else (-300, 300)
        exponent = float(draw.uniform(*ends))
        width = exponent / 2
        return {
            **loss(draw),
            "bounds": (0.0, float(10.0**width)),
            "scales": float(10.0 ** (width - exponent)),
            "clip": float(10.0 ** max(-323.0, exponent - draw.uniform(-2, 14))),
            "iterations": 1,
            "rate": scale_like(draw),
            "fit_intercept": False,
        }
    return {
        **loss(draw),
        "bounds": bounds(draw),
        "scales": scales,
        "clip": clip,
        "iterations": int(draw.integers(1, 4)),
        "rate": None if draw.integers(2) else scale_like(draw),
        "fit_intercept": bool(draw.integers(2)),
    }


def _robust(draw: Generator) -> dict[str, Any]:
    return {
        **loss(draw),
        "bounds": bounds(draw),
        "target_bounds": aims(draw, 1),
        "scales": None if draw.integers(2) else scale_like(draw),
        "scale": scale_like(draw) if draw.integers(2) else 1.0,
        "norm": scale_like(draw) if draw.integers(2) else 2.0,
        "iterations": int(draw.integers(1, 4)),
        "rate": scale_like(draw) if draw.integers(2) else 0.5,
    }


def _huber(draw: Generator) -> Any:
    turn = scale_like(draw) if draw.integers(2) else 1.345
    return HuberRegression(
        **_robust(draw), turn=turn, solver=str(draw.choice(["descent", "newton"]))
    )


def _quantile(draw: Generator) -> Any:
    smoothing = scale_like(draw) if draw.integers(2) else 0.5
    return QuantileRegression(**_robust(draw), smoothing=smoothing, quantile=0.7)


def _logistic(draw: Generator) -> Any:
    return LogisticRegression(**_descent(draw))


def _several(draw: Generator) -> Any:
    return LogisticRegression(**_descent(draw), classes=(0, 1, 2))


def _svc(draw: Generator) -> Any:
    return LinearSVC(**_descent(draw))


def _minimiser(draw: Generator) -> Any:
    penalty = float(10.0 ** draw.uniform(-14, 3)) if draw.integers(3) else scale_like(draw)
    return OutputPerturbation(
        **loss(draw),
        bounds=bounds(draw),
        scales=None if draw.integers(2) else scale_like(draw),
        penalty=penalty,
        norm=scale_like(draw) if draw.integers(2) else 1.0,
        tolerance=float(10.0 ** draw.uniform(-3, 2)),
        loss=str(draw.choice(["hinge", "logistic"])),
        fit_intercept=bool(draw.integers(2)),
    )


def _line(draw: Generator) -> Any:
    norm = None if draw.integers(2) else scale_like(draw)
    return LinearRegression(
        **loss(draw), bounds=bounds(draw), target_bounds=aims(draw, 1), norm=norm
    )


def _pca(draw: Generator) -> Any:
    norm = None if draw.integers(2) else scale_like(draw)
    return PCA(
        int(draw.integers(1, 3)),
        **loss(draw),
        bounds=bounds(draw),
        norm=norm,
        centred=bool(draw.integers(2)),
    )


def _clusters(draw: Generator) -> Any:
    norm = None if draw.integers(2) else scale_like(draw)
    return KMeans(int(draw.integers(1, 4)), **loss(draw), bounds=bounds(draw), norm=norm)


def _bayes(draw: Generator) -> Any:
    return GaussianNB(**loss(draw), bounds=bounds(draw), classes=[0, 1])


def _scaler(draw: Generator) -> Any:
    return StandardScaler(**loss(draw), bounds=bounds(draw))


def _choice(draw: Generator) -> Any:
    lines = [([number(draw), -number(draw)], number(draw)) for _ in range(3)]
    return ClassifierChoice(lines, epsilon=loss(draw)["epsilon"], bounds=bounds(draw))


def _pipeline(draw: Generator) -> Any:
    after = LinearRegression(bounds=bounds(draw), target_bounds=(0, 1))
    if draw.integers(2):
        after = LogisticRegression(**_descent(draw))
    return Pipeline([("scale", _scaler(draw)), ("after", after)])


def _folds(draw: Generator) -> Any:
    return CrossValidation(_logistic(draw), folds=2, **loss(draw))


def _search(draw: Generator) -> Any:
    first = LogisticRegression(**_descent(draw))
    second = LinearSVC(**{**_descent(draw), "bounds": first.bounds})
    return ModelSearch([first, second], folds=2, epsilon=loss(draw)["epsilon"])


NOWHERE: Any = None
"""No gateway: before the first question to an engine, nothing is opened."""

KINDS: tuple[Callable[[Generator], Any], ...] = (
    _logistic,
    _svc,
    _huber,
    _quantile,
    _minimiser,
    _several,
    _line,
    _pca,
    _bayes,
    _scaler,
    _choice,
    _pipeline,
    _folds,
    _search,
    _clusters,
)
"""All models; those on rows come more often, by `made_model`."""

ON_ROWS = 6
"""The first of them, whose floats become integers here and not in an engine."""


@dataclass(frozen=True)
class MadeFit:
    """A model with settings, and two tables that differ by one unit."""

    number: int
    model: Any
    arrays: Arrays
    left: list[dict[str, Any]]
    right: list[dict[str, Any]]

    def data(self, rows: list[dict[str, Any]]) -> Data:
        return Data(Reference({("rows",): rows}), self.arrays.catalog, b"arrays")


def made_fit(place: int) -> MadeFit:
    """The fit of a number."""
    draw = np.random.default_rng([18, place])
    few = draw.integers(2)
    kind = KINDS[draw.integers(ON_ROWS) if few else draw.integers(len(KINDS))]
    model = kind(draw)
    relation = (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE)[place % 2]
    inner = getattr(model, "model", model)
    ends = getattr(inner, "bounds", None) or ((-1.0, 1.0))
    others = [_person(draw, ends) for _ in range(int(draw.integers(0, 4)))]
    here = [*others, _person(draw, ends)]
    there = [*others, _person(draw, ends)] if relation is Neighbours.REPLACE_ONE else others
    max_rows = int(draw.choice([1, 1, 2, 3]))
    arrays = Arrays(
        np.zeros((1, 2)), np.zeros(1, dtype=np.int64), np.zeros(1), max_rows, relation
    )
    pair = [_rows(here), _rows(there)]
    if draw.integers(2):
        pair.reverse()
    return MadeFit(place, model, arrays, *pair)


def _person(draw: Generator, ends: Any) -> list[Row]:
    """A person's rows: equal, at an end of bounds, tiny, huge, or with something missing."""
    lower, upper = (np.broadcast_to(np.asarray(end, dtype=float), 2).tolist() for end in ends)

    def cell(at: int) -> float | None:
        known = [lower[at], upper[at], 0.0, TINY, -TINY, 1e-170, HUGE, -HUGE, 1.0, None]
        return known[int(draw.choice(len(known), p=[0.2, 0.3, *[0.0625] * 8]))]

    one: Row = (cell(0), cell(1), int(draw.integers(2)))
    if draw.integers(2):  # all rows alike are what moves a sum most
        return [one] * int(draw.integers(1, 5))
    return [(cell(0), cell(1), int(draw.integers(3))) for _ in range(int(draw.integers(1, 5)))]


def _rows(people: list[list[Row]]) -> list[dict[str, Any]]:
    return [
        {"unit": unit, "x0": one, "x1": other, "y": target}
        for unit, rows in enumerate(people)
        for one, other, target in rows
    ]


def outcome(made: MadeFit) -> tuple[str, str | None]:
    """How the fit ends, and how its two tables are told apart; None where they are not.

    A refusal before any data is public. After the first question to the engine, whatever is
    raised is seen: on both tables, it still locks the population, and counts as told.
    """
    model, training = made.model, made.arrays.training
    try:
        model.event(training)
        next(model.steps(training, NOWHERE), None)  # as `price_fit` does, before the charge
    except Exception:  # noqa: BLE001 - whatever it is, no row was read
        return REFUSED, None
    there = RecordingGateway(SystemEntropy(b"a charge"))
    try:
        drive(model, training, made.data(made.left), there)
    except Exception as error:  # noqa: BLE001 - the same
        return FITTED, f"failed on the first table: {error!r:.200}"
    gone = ReplayingGateway(there.calls)
    try:
        drive(model, training, made.data(made.right), gone)
        gone.finish()
    except BrokenPromise as broken:
        return FITTED, f"moved too far: {broken!s:.200}"
    except (Exception, InternalError) as error:  # noqa: BLE001 - the same
        return FITTED, f"failed on the second table alone: {error!r:.200}"
    return FITTED, None
