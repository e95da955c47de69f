"""What Tumult's documented mechanisms would answer: its formulas, without its Spark.

tmlt.core: geometric noise under epsilon and discrete Gaussian noise under rho, here drawn from
rounded normals; an average is a sum of deviations from the middle of the bounds over a count,
with half of the loss each; a quantile is an interval between two values by the exponential
mechanism on ranks, then a uniform draw; keys pass a threshold with geometric noise.
"""

from math import exp, log, sqrt

import numpy as np

RNG = np.random.default_rng(5)


def noise(sensitivity: float, measure: str, loss: float, runs: int) -> np.ndarray:
    if measure == "zcdp":
        return np.rint(RNG.normal(0, sensitivity / sqrt(2 * loss), runs))
    fail = 1 - exp(-loss / sensitivity)
    return (RNG.geometric(fail, runs) - RNG.geometric(fail, runs)).astype(float)


def count(asked: dict, table: list[int]) -> np.ndarray:
    return len(table) + noise(1, asked["measure"], asked["loss"], asked["runs"])


def total(asked: dict, table: list[int]) -> np.ndarray:
    noisy = noise(asked["high"], asked["measure"], asked["loss"], asked["runs"])
    return sum(table) + noisy


def mean(asked: dict, table: list[int]) -> np.ndarray:
    middle, half = (asked["low"] + asked["high"]) // 2, asked["loss"] / 2
    away = sum(table) - middle * len(table)
    sums = away + noise(asked["high"] - middle, asked["measure"], half, asked["runs"])
    return middle + sums / np.maximum(1, count(asked | {"loss": half}, table))


def median(asked: dict, table: list[int]) -> np.ndarray:
    epsilon = asked["loss"] if asked["measure"] == "pure" else sqrt(8 * asked["loss"])
    ends = np.array([asked["low"], *sorted(table), asked["high"]], dtype=float)
    ranks, lengths = np.arange(ends.size - 1), np.diff(ends)
    away = abs(ranks - len(table) / 2)
    weights = lengths * np.exp(-epsilon * (away - away[lengths > 0].min()))
    chosen = RNG.choice(ranks, asked["runs"], p=weights / weights.sum())
    return RNG.uniform(ends[chosen], ends[chosen + 1])


def keys(asked: dict, table: list[int]) -> np.ndarray:
    """The least threshold for a unit of so many rows, and how many keys reach it."""
    rows, epsilon = asked["max_keys"], asked["epsilon"] / asked["max_keys"]
    delta = asked["delta"] if rows == 1 else asked["delta"] / (rows * exp(asked["epsilon"]))
    # P(noise >= t - 1) = exp(-epsilon * (t - 1)) / (1 + exp(-epsilon)) <= delta
    threshold = 1 + np.ceil(-log(delta * (1 + exp(-epsilon))) / epsilon)
    size = asked["runs"], len(table)
    fail = 1 - exp(-epsilon)
    noisy = np.array(table) + RNG.geometric(fail, size) - RNG.geometric(fail, size)
    return (noisy >= threshold).sum(axis=1).astype(float)


QUESTIONS = {"count": count, "sum": total, "mean": mean, "median": median, "keys": keys}
