"""Answer one question many times with PipelineDP's mechanisms, and print one JSON object.

Standard input holds a JSON object: question, tables (each a list of values), low, high, epsilon
and runs; for keys, one table of the units of each key, epsilon, delta, max_keys and runs. The
answer holds values, a list for each table, with one a run.
"""

import json
import sys
from importlib.metadata import version

from pipeline_dp import PartitionSelectionStrategy
from pipeline_dp.dp_computations import (
    LaplaceMechanism,
    MeanMechanism,
    apply_laplace_mechanism,
)
from pipeline_dp.partition_selection import create_partition_selection_strategy
from pydp.algorithms.quantile_tree import QuantileTree

HEIGHT, BRANCHING = 4, 16
"""Of the trees that its quantiles are read off."""


def count(asked: dict, table: list[int]) -> float:
    return apply_laplace_mechanism(len(table), asked["epsilon"], 1)


def total(asked: dict, table: list[int]) -> float:
    return apply_laplace_mechanism(sum(table), asked["epsilon"], asked["high"])


def mean(asked: dict, table: list[int]) -> float:
    middle, half = (asked["low"] + asked["high"]) / 2, asked["epsilon"] / 2
    rows = LaplaceMechanism.create_from_epsilon(half, 1)
    sums = LaplaceMechanism.create_from_epsilon(half, (asked["high"] - asked["low"]) / 2)
    centred = sum(value - middle for value in table)
    return MeanMechanism(middle, rows, sums).compute_mean(len(table), centred)[2]


def median(asked: dict, table: list[int]) -> float:
    tree = QuantileTree(asked["low"], asked["high"], HEIGHT, BRANCHING)
    for value in table:
        tree.add_entry(value)
    return tree.compute_quantiles(asked["epsilon"], 0.0, 1, 1, [0.5], "laplace")[0]


def keys(asked: dict, table: list[int]) -> int:
    selection = create_partition_selection_strategy(
        PartitionSelectionStrategy.TRUNCATED_GEOMETRIC,
        asked["epsilon"],
        asked["delta"],
        asked["max_keys"],
    )
    return sum(selection.should_keep(units) for units in table)


QUESTIONS = {"count": count, "sum": total, "mean": mean, "median": median, "keys": keys}


def main() -> None:
    asked = json.load(sys.stdin)
    answer = QUESTIONS[asked["question"]]
    runs = range(asked["runs"])
    values = [[float(answer(asked, table)) for _ in runs] for table in asked["tables"]]
    name = "pipelinedp", version("pipeline-dp")
    print(json.dumps({"peer": name[0], "version": name[1], "values": values}))


if __name__ == "__main__":
    main()
