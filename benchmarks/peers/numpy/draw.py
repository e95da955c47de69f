"""Draw numpy's floating-point noise, or time it, and print one JSON object."""

import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

USAGE = """usage: draw.py draw laplace|gaussian SCALE COUNT VALUE
       draw.py time laplace|gaussian SCALE COUNT REPEATS"""


def sampler(law: str, scale: str) -> Callable[[int], np.ndarray]:
    rng, width = np.random.default_rng(), float(Fraction(scale))
    if law == "laplace":
        return lambda count: rng.laplace(0.0, width, count)
    if law == "gaussian":
        return lambda count: rng.normal(0.0, width, count)
    sys.exit(USAGE)


def best_ns(law: str, scale: str, count: int, repeats: int) -> float:
    sample = sampler(law, scale)
    times = []
    for _ in range(repeats):
        start = time.perf_counter_ns()
        sample(count)
        times.append(time.perf_counter_ns() - start)
    return min(times) / count


def main() -> None:
    answer: dict[str, object] = {"peer": "numpy", "version": np.__version__}
    match sys.argv[1:]:
        case ["draw", law, scale, count, value]:
            noisy = float(Fraction(value)) + sampler(law, scale)(int(count))
            values = [x.hex() for x in noisy.tolist()]
            answer |= {"law": law, "scale": scale, "value": value, "values": values}
        case ["time", law, scale, count, repeats]:
            ns = best_ns(law, scale, int(count), int(repeats))
            answer |= {"law": law, "scale": scale, "count": int(count), "ns_per_draw": ns}
        case _:
            sys.exit(USAGE)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
