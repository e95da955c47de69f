"""How many ordinary questions are understood: `just language` prints one line for each list.

Questions are parsed and priced; nothing is charged, and no data is read. With ``-v``, each
refusal is printed. The last line says how long it takes from the text to the quote: the 99th
percentile over all statements, of which each counts with the median of its times.
"""

import sys
from collections.abc import Iterable
from statistics import median, quantiles
from time import perf_counter_ns

from questions import CLINIC, FIELDS, PEOPLE, TOOLS

from tacit.core import Catalog, Loss
from tacit.errors import TacitError
from tacit.plan import PublicRows
from tacit.query import price
from tacit.sql import read_statement

LOSS = Loss.zcdp("0.1", "1e-6")


def refusals(catalog: Catalog, texts: Iterable[str]) -> dict[str, str]:
    """The questions that are refused, each with its reason."""
    found = {}
    for text in texts:
        try:
            asked = read_statement(text, catalog)
            if not isinstance(asked, PublicRows):
                price(asked, catalog, LOSS)
        except TacitError as error:
            found[text] = str(error)
    return found


REPEATS, WANTED_MS = 7, 25


def milliseconds(catalog: Catalog, text: str) -> float:
    """The median time from a statement to its quote or refusal."""
    times = []
    for _ in range(REPEATS):
        began = perf_counter_ns()
        refusals(catalog, [text])
        times.append((perf_counter_ns() - began) / 1e6)
    return median(times)


def bar(name: str, refused: int, asked: int, wanted: int) -> tuple[str, bool]:
    """The line of a list of questions, and whether enough of them are understood."""
    understood = asked - refused
    good = understood >= wanted
    line = f"bar {name} of {asked}: {understood} (wanted at least {wanted})"
    return f"{line} {'ok' if good else 'short'}", good


def main(*, verbose: bool = False) -> int:
    """Print the figures; return 1 if one of them is short."""
    lists = [
        ("questions of people understood", [(CLINIC, PEOPLE)], 45),
        ("questions of tools understood", [(CLINIC, TOOLS)], 18),
        ("questions understood", list(FIELDS), 80),
    ]
    status = 0
    for name, asked, wanted in lists:
        refused = [refusals(catalog, texts) for catalog, texts in asked]
        if verbose:
            for each in refused:
                for text, reason in each.items():
                    print(f"refused: {text}\n    {reason}")  # noqa: T201
        line, good = bar(name, sum(map(len, refused)), sum(len(t) for _, t in asked), wanted)
        print(line)  # noqa: T201
        status = status or int(not good)
    every = [
        (catalog, text) for _, asked, _ in lists for catalog, texts in asked for text in texts
    ]
    slowest = quantiles((milliseconds(*each) for each in every), n=100)[-1]
    good = slowest <= WANTED_MS
    line = f"bar from text to quote, p99 of {len(every)} statements, ms: {slowest:.1f}"
    print(f"{line} (wanted at most {WANTED_MS}) {'ok' if good else 'short'}")  # noqa: T201
    return status or int(not good)


if __name__ == "__main__":
    sys.exit(main(verbose="-v" in sys.argv))
