"""Draw a value under diffprivlib's Laplace noise, and print one JSON object."""

import json
import sys
from fractions import Fraction
from importlib.metadata import version

from diffprivlib.mechanisms import Laplace

USAGE = "usage: draw.py draw laplace SCALE COUNT VALUE"


def draw(scale: str, count: int, value: float) -> list[str]:
    mechanism = Laplace(epsilon=float(1 / Fraction(scale)), sensitivity=1)
    return [float(mechanism.randomise(value)).hex() for _ in range(count)]


def main() -> None:
    answer: dict[str, object] = {"peer": "diffprivlib", "version": version("diffprivlib")}
    match sys.argv[1:]:
        case ["draw", "laplace" as law, scale, count, value]:
            values = draw(scale, int(count), float(Fraction(value)))
            answer |= {"law": law, "scale": scale, "value": value, "values": values}
        case _:
            sys.exit(USAGE)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
