"""Draw OpenDP's integer noise, or time it, and print one JSON object."""

import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version

import opendp.prelude as dp

USAGE = """usage: draw.py draw laplace|gaussian SCALE COUNT
       draw.py time laplace|gaussian SCALE COUNT REPEATS"""


def mechanism(law: str, scale: str) -> Callable[[list[int]], list[int]]:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))  # a plain int would be 32 bits there
    if law == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), float(Fraction(scale)))
    if law == "gaussian":
        return dp.m.make_gaussian(domain, dp.l2_distance(T=float), float(Fraction(scale)))
    sys.exit(USAGE)


def best_ns(law: str, scale: str, count: int, repeats: int) -> float:
    noisy, zeros = mechanism(law, scale), [0] * count
    times = []
    for _ in range(repeats):
        start = time.perf_counter_ns()
        noisy(zeros)
        times.append(time.perf_counter_ns() - start)
    return min(times) / count


def main() -> None:
    answer: dict[str, object] = {"peer": "opendp", "version": version("opendp")}
    match sys.argv[1:]:
        case ["draw", law, scale, count]:
            values = mechanism(law, scale)([0] * int(count))
            answer |= {"law": law, "scale": scale, "values": values}
        case ["time", law, scale, count, repeats]:
            ns = best_ns(law, scale, int(count), int(repeats))
            answer |= {"law": law, "scale": scale, "count": int(count), "ns_per_draw": ns}
        case _:
            sys.exit(USAGE)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
