"""Print docstrings and error messages without their code, for a reader who knows none of it.

    uv run python shipping/strangers.py SEED [--docstrings 40] [--messages 20]

A reader marks each text that cannot be understood from the text, its kind and its name alone.
The seed fixes the draw, so that two readers can judge the same texts.
"""

import argparse
import sys
from pathlib import Path
from textwrap import indent

from prose import DOCSTRINGS, Passage, files_under, passages
from stable_sample import sample

ROOT = Path(__file__).parents[1]


def draw(
    found: list[Passage], seed: str, docstrings: int, messages: int
) -> tuple[list[Passage], list[Passage]]:
    """Draw docstrings and error messages from all passages."""

    def text(passage: Passage) -> str:
        return f"{passage.kind} {passage.name} {passage.raw}"

    documented = [each for each in found if each.kind in DOCSTRINGS]
    errors = [each for each in found if each.kind == "error"]
    return (
        sample(documented, docstrings, seed=seed, text=text),
        sample(errors, messages, seed=seed, text=text),
    )


def page(drawn: tuple[list[Passage], list[Passage]]) -> str:
    """Print the texts as one page, numbered, each with its kind and name."""
    lines = []
    for number, passage in enumerate([*drawn[0], *drawn[1]], start=1):
        lines += [
            f"{number}. {passage.kind} {passage.name}",
            indent(passage.raw.strip(), "   "),
            "",
        ]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print a draw from ``src``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("seed")
    parser.add_argument("--docstrings", type=int, default=40)
    parser.add_argument("--messages", type=int, default=20)
    given = parser.parse_args(arguments)
    found = [each for path in files_under([ROOT / "src"]) for each in passages(path)]
    print(page(draw(found, given.seed, given.docstrings, given.messages)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
