"""Which lines and branches of Tacit a run of tests reaches, measured by probes.

Before Python 3.12, coverage.py learns of each line by a trace function, which makes Python code
two to three times slower. SlipCover puts a probe at each line and branch of a module when the
module is loaded, and a probe that was passed is replaced by a jump over it. What the probes saw
is written as data of coverage.py, which combines, excludes and reports as before.

The two name branches differently. For coverage.py, a `match` is a chain of its cases; for
SlipCover it has one branch to each case. And where a branch leaves a block, SlipCover names
the line that is likely next. `Branches` translates, by the branches that coverage.py expects.

Run as a script, it makes one file of coverage.py of what several processes wrote:
``python shipping/probed_coverage.py DATA WRITTEN...``
"""

import ast
import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from coverage import CoverageData
from coverage.parser import PythonParser
from slipcover import FileMatcher, ImportManager, Slipcover

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "src" / "tacit"

Arc = tuple[int, int]
"""The line of a branch, and the line that comes next, which is negative where none does."""


class Probes:
    """The probes of this process, in all modules of a folder that it loads from now on."""

    def __init__(self, measured: Path = MEASURED) -> None:
        loaded = sorted(
            name
            for name, module in sys.modules.items()
            if measured in Path(getattr(module, "__file__", None) or "/").parents
        )
        if loaded:
            raise RuntimeError(f"These were loaded before their probes: {', '.join(loaded)}.")
        # a probe that is jumped over at once leaves every function its one code object
        self._slipcover = Slipcover(branch=True, immediate=True, exclude_lines=[])
        matcher = FileMatcher(sources=[str(measured)], omit=["*/migrations/*"])
        ImportManager(self._slipcover, matcher).__enter__()

    def write(self, place: Path) -> None:
        """Write what was passed until now."""
        place.write_text(json.dumps(self._slipcover.get_coverage()["files"]))


class Branches:
    """The branches of one file, as coverage.py knows them."""

    def __init__(self, file: Path) -> None:
        parser = PythonParser(filename=str(file))
        parser.parse_source()
        self._known: dict[int, set[int]] = defaultdict(set)
        for line, following in parser.arcs():
            self._known[line].add(following)
        # each `match`, by its line: the line and the first line of the body of its cases
        self._cases: dict[int, list[Arc]] = {
            node.lineno: [
                (parser.first_line(case.pattern.lineno), case.body[0].lineno)
                for case in node.cases
            ]
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.Match)
        }

    def translated(self, passed: Iterable[Arc], named: Iterable[Arc]) -> set[Arc]:
        """Return what coverage.py would have seen.

        ``passed`` are branches that SlipCover saw, and ``named`` all that it looked for.
        """
        targets: dict[int, set[int]] = defaultdict(set)
        for line, following in named:
            targets[line].add(following)
        found: set[Arc] = set()
        for line, following in passed:
            if line in self._cases:
                found |= self._through_cases(line, following)
            else:
                found |= self._one(line, following, targets[line])
        return found

    def _one(self, line: int, following: int, targets: set[int]) -> set[Arc]:
        known = self._known[line]
        # the other way out of the line, where the two name it differently
        meant = {following} if following in known else known - targets
        return {(line, each) for each in meant}

    def _through_cases(self, line: int, following: int) -> set[Arc]:
        lines = [line]
        for case, body in self._cases[line]:
            lines.append(case)
            if body == following:
                return {*pairwise(lines), (case, body)}
        [*_, (last, body)] = self._cases[line]
        return {*pairwise(lines), *self._one(last, following, {body})}


def convert(written: Iterable[Path], data: CoverageData, measured: Path = MEASURED) -> None:
    """Add what processes wrote to a file of coverage.py."""
    lines: dict[str, set[int]] = defaultdict(set)
    passed: dict[str, set[Arc]] = defaultdict(set)
    named: dict[str, set[Arc]] = defaultdict(set)
    for place in written:
        for name, seen in json.loads(place.read_text()).items():
            lines[name].update(seen["executed_lines"])
            passed[name].update((a, b) for a, b in seen["executed_branches"])
            named[name].update((a, b) for a, b in seen["missing_branches"])
    for name, reached in lines.items():
        file = ROOT / name
        arcs = {(-1, line) for line in reached}
        arcs |= Branches(file).translated(passed[name], passed[name] | named[name])
        data.add_arcs({str(file): arcs})
    # a module that nothing loaded is there with no line
    every = [file for file in measured.rglob("*.py") if "migrations" not in file.parts]
    data.touch_files([str(file) for file in every])
    data.write()


if __name__ == "__main__":
    [made, *given] = sys.argv[1:]
    Path(made).unlink(missing_ok=True)
    convert(map(Path, given), CoverageData(made))
