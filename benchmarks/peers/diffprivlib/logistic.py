"""Fit diffprivlib's logistic regression to stored rows, and print its weights as JSON."""

import json
import sys
import warnings
from importlib.metadata import version

import numpy as np
from diffprivlib.models import LogisticRegression

USAGE = "usage: logistic.py ROWS.npz EPSILON RUNS C..."


def fits(
    features: np.ndarray, classes: np.ndarray, epsilon: float, c: float, runs: int
) -> list:
    found = []
    for _ in range(runs):
        model = LogisticRegression(
            epsilon=epsilon, data_norm=1.0, C=c, fit_intercept=False, max_iter=1000, tol=1e-8
        )
        found.append(model.fit(features, classes).coef_[0].tolist())
    return found


def main() -> None:
    if len(sys.argv) < 5:
        sys.exit(USAGE)
    path, epsilon, runs, *strengths = sys.argv[1:]
    rows = np.load(path)
    warnings.simplefilter("ignore")
    weights = {
        c: fits(rows["features"], rows["classes"], float(epsilon), float(c), int(runs))
        for c in strengths
    }
    print(
        json.dumps(
            {"peer": "diffprivlib", "version": version("diffprivlib"), "weights": weights}
        )
    )


if __name__ == "__main__":
    main()
