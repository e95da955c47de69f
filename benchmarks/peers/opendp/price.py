"""Price histories of integer noise with OpenDP, and print one JSON object.

Standard input holds a JSON list of histories; a history is a list of [law, sensitivity, scale].
"""

import json
import sys
from importlib.metadata import version

import opendp.prelude as dp


def price(law: str, sensitivity: int, scale: float) -> float:
    """The epsilon of Laplace noise, or the rho of Gaussian noise, on vectors of integers."""
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale).map(sensitivity)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale).map(float(sensitivity))


def main() -> None:
    dp.enable_features("contrib")
    histories = json.load(sys.stdin)
    prices = [[price(*leaf) for leaf in history] for history in histories]
    print(json.dumps({"peer": "opendp", "version": version("opendp"), "prices": prices}))


if __name__ == "__main__":
    main()
