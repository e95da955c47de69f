"""Change the code in small ways, and count how many of the changes a unit test notices.

    uv run python shipping/mutants.py --count 400 --seed 1

draws mutants (`mutations`) of the packages in which a mistake breaks a guarantee, and runs
each of them against the tests that execute the changed line (`coverage_map`), up to the first
failure. A run that takes far longer than without the change counts as caught. Two fixed
mutants, which all tests of version 0.1.0 missed, are part of every run.

A survivor that changes no behaviour is listed in ``tests/mutants/harmless.toml`` with the
reason. Verdicts are kept in ``.mutants``, so that an interrupted run goes on where it stopped;
they hold for the same sources, and for the same text of the test that caught a mutant.
"""

import argparse
import ast
import json
import os
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median

from bars import Bar, at_most, show
from coverage_map import CoverageMap, digest, groups, record, source_digest
from mutant_runner import CAUGHT, SURVIVED, TIMEOUT, UNTESTED, Job, Verdict, run_all
from mutations import FIXED, Fixed, Mutant, fixed_mutants, mutants_of
from stable_sample import sample

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".mutants"
HARMLESS = ROOT / "tests" / "mutants" / "harmless.toml"
PACKAGES = ("accounting", "plan", "mechanisms", "ledger", "query")
WANTED = 0.85
FIRST_FILES = 3
"""Test files of the first batch; most mutants are caught by the tests of their own package."""


# sources --------------------------------------------------------------------------------------


def module_paths() -> dict[str, Path]:
    """Return the modules of `tacit` and their files."""
    source = ROOT / "src"
    return {
        ".".join(path.relative_to(source).with_suffix("").parts): path
        for path in sorted((source / "tacit").rglob("*.py"))
        if path.name != "__init__.py"
    }


def all_mutants(packages: tuple[str, ...]) -> list[Mutant]:
    """Return every mutant of the packages."""
    return [
        mutant
        for module, path in module_paths().items()
        if module.split(".")[1] in packages
        for mutant in mutants_of(module, path.read_text("utf-8"))
    ]


def all_fixed() -> list[Fixed]:
    """Return the fixed mutants, wherever they stand."""
    return [
        found
        for module, path in module_paths().items()
        for found in fixed_mutants(module, path.read_text("utf-8"))
    ]


@lru_cache(maxsize=64)
def _functions(path: Path) -> tuple[tuple[int, int], ...]:
    tree = ast.parse(path.read_text("utf-8"))
    return tuple(
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def function_around(path: Path, line: int) -> range:
    """Return the lines of the innermost function around a line; none at the top of a file."""
    around = [span for span in _functions(path) if span[0] <= line <= span[1]]
    first, last = max(around, default=(0, -1))
    return range(first, last + 1)


# reasons --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a mutant that survives changes no behaviour. A package, and not a file, names it."""

    package: str
    function: str
    before: str
    after: str
    reason: str

    def fits(self, mutant: Mutant) -> bool:
        """Return whether this is the reason of a mutant."""
        named = (mutant.package, mutant.function, mutant.before, mutant.after)
        return (self.package, self.function, self.before, self.after) == named


def reasons(text: str) -> list[Reason]:
    """Read ``harmless.toml``."""
    return [Reason(**entry) for entry in tomllib.loads(text).get("mutant", [])]


def as_entry(mutant: Mutant) -> str:
    """Return the entry of a survivor for ``harmless.toml``, in which the reason is missing."""
    fields = {
        name: getattr(mutant, name) for name in ("package", "function", "before", "after")
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    return "\n".join(["[[mutant]]", *lines, 'reason = ""'])


# jobs -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planner:
    """Chooses the tests of each mutant, from the maps of one or more rounds of tests."""

    rounds: tuple[CoverageMap, ...]
    budget: float
    """The most seconds of tests for one mutant, as they take without a change."""

    def job(self, mutant: Mutant | Fixed) -> Job:
        """Return the job of a mutant: in each round, tests of its own package first."""
        path = module_paths()[mutant.module]
        around = function_around(path, mutant.first)
        batches, total = [], 0.0
        for tests_map in self.rounds:
            tests = tests_map.tests_of(path, mutant.first, mutant.last, around)
            affordable, spent = [], 0.0
            for test in tests:
                if spent + tests_map.seconds[test] <= self.budget:
                    spent += tests_map.seconds[test]
                    affordable.append(test)
            total += spent
            batches += list(_batches(affordable, mutant.module.split(".")[1]))
        return Job(mutant.key, mutant.change, tuple(batches), total)


def _batches(tests: list[str], package: str) -> Iterator[tuple[str, ...]]:
    """Split tests in two: those of a few near test files, and all others."""
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    near = [file for file in files if package in Path(file).parts]
    first = set([*near, *(file for file in files if file not in near)][:FIRST_FILES])
    for chosen in (True, False):
        batch = tuple(test for test in tests if (test.partition("::")[0] in first) == chosen)
        if batch:
            yield batch


def job_by_name(fixed: Fixed, planned: Job) -> Job:
    """Add the test files that name the changed function, in which it runs in a worker."""
    name = fixed.function.rpartition(".")[2]
    files = [
        str(path.relative_to(ROOT))
        for folder in ("unit", "contracts", "end_to_end")
        for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))
        if name.isidentifier() and name in path.read_text("utf-8")
    ]
    batches = (*planned.batches, *((file,) for file in files))
    return Job(planned.name, planned.change, batches, planned.seconds + 60)


# verdicts that are kept -----------------------------------------------------------------------


@dataclass
class Verdicts:
    """Verdicts of earlier runs, in a file to which each new one is appended."""

    file: Path
    source: str
    tests: str

    def read(self) -> dict[str, Verdict]:
        """Return the verdicts that still hold, by the names of their mutants."""
        found = {}
        lines = self.file.read_text("utf-8").splitlines() if self.file.exists() else []
        for entry in map(json.loads, lines):
            caught_by = _digest_of(entry["by"])
            same_test = caught_by is not None and caught_by == entry["by_digest"]
            holds = entry["tests"] == self.tests or same_test
            if entry["source"] == self.source and holds:
                found[entry["name"]] = Verdict(entry["outcome"], entry["by"], entry["seconds"])
        return found

    def add(self, name: str, verdict: Verdict) -> None:
        """Keep a verdict."""
        entry = {"name": name, "source": self.source, "tests": self.tests, **asdict(verdict)}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({**entry, "by_digest": _digest_of(verdict.by)}) + "\n")


def _digest_of(test: str) -> str | None:
    """Return the hash of the file of a test; None where no test is named."""
    file = ROOT / test.partition("::")[0]
    return digest([file]) if test and file.is_file() else None


# the recipe -----------------------------------------------------------------------------------


def bars(
    verdicts: dict[Mutant, Verdict], fixed: dict[str, Verdict], known: list[Reason], stale: int
) -> tuple[list[Bar], list[Mutant]]:
    """Return the bars of a run, and the survivors without a reason."""
    survivors = [
        each for each, done in verdicts.items() if done.outcome in {SURVIVED, UNTESTED}
    ]
    unexplained = [each for each in survivors if not any(why.fits(each) for why in known)]
    share = 1 - len(survivors) / max(1, len(verdicts))
    caught = sum(done.outcome in {CAUGHT, TIMEOUT} for done in fixed.values())
    return [
        Bar(
            "mutants caught",
            f"{share:.1%} of {len(verdicts)}",
            f"{WANTED:.0%}",
            bool(verdicts) and share >= WANTED,
        ),
        at_most("survivors without a reason", len(unexplained), 0),
        at_most("reasons without a mutant", stale, 0),
        Bar(
            "fixed mutants caught",
            f"{caught} of {len(FIXED)}",
            f"{len(FIXED)} of {len(FIXED)}",
            caught == len(FIXED) and len(fixed) == len(FIXED),
        ),
    ], unexplained


def main(arguments: list[str]) -> int:
    """Draw mutants, run them and print the bars."""
    given = _arguments(arguments)
    rounds = [given.tests.split(), *([given.then.split()] if given.then else [])]
    every = all_mutants(tuple(given.packages.split()))
    drawn = sample(every, given.count, seed=given.seed, text=lambda each: each.name)
    fixed = all_fixed()
    maps = tuple(
        CoverageMap(tuple(record(places, given.keywords, HOME / "map"))) for places in rounds
    )
    planner = Planner(maps, given.budget)
    files = [file for places in rounds for group in groups(places) for file in _python(group)]
    keeper = Verdicts(HOME / "verdicts.jsonl", source_digest(), digest(files))
    kept = keeper.read()
    jobs = {each.key: planner.job(each) for each in drawn if each.key not in kept}
    jobs |= {each.key: job_by_name(each, planner.job(each)) for each in fixed}
    _check_unchanged(list(jobs.values()), given)
    costs = []
    for number, (job, verdict) in enumerate(
        run_all(jobs.values(), HOME, given.keywords, given.workers), start=1
    ):
        keeper.add(job.name, verdict)
        kept[job.name] = verdict
        costs.append(verdict.seconds)
        cost = f"{verdict.seconds:.1f} s of CPU"
        print(f"{number}/{len(jobs)} {verdict.outcome} in {cost}: {job.name}")
        sys.stdout.flush()
    known = reasons(HARMLESS.read_text("utf-8")) if HARMLESS.exists() else []
    stale = [why for why in known if not any(why.fits(each) for each in every)]
    printed, unexplained = bars(
        {each: kept[each.key] for each in drawn},
        {each.name: kept[each.key] for each in fixed},
        known,
        len(stale),
    )
    _list(unexplained, stale, kept)
    if costs:
        print(f"{len(costs)} mutants run, at {median(costs):.1f} s of CPU in the median\n")
    return show(printed)


def _list(unexplained: list[Mutant], stale: list[Reason], kept: dict[str, Verdict]) -> None:
    for each in unexplained:
        path = module_paths()[each.module].relative_to(ROOT)
        print(f"\n{path}:{each.first}: {each.kind}, {kept[each.key].outcome}\n{as_entry(each)}")
    for why in stale:
        print(f"\nNo mutant has this reason any longer: {why}")
    print()


def _python(group: Path) -> list[Path]:
    return [group] if group.is_file() else list(group.rglob("*.py"))


def _check_unchanged(jobs: list[Job], given: argparse.Namespace) -> None:
    """Run the tests of one job without its change: they must pass, or no verdict means much."""
    job = next((each for each in jobs if each.batches), None)
    if job is None:
        return
    plain = Job("no change", None, job.batches[:1], job.seconds)
    for _, verdict in run_all([plain], HOME, given.keywords, 1):
        if verdict.outcome != SURVIVED:
            log = HOME / "run-0" / "log"
            message = f"Tests fail without any change ({verdict.by}): see {log}."
            raise SystemExit(message)


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--packages", default=" ".join(PACKAGES))
    parser.add_argument("--tests", default="tests/unit", help="folders of the first round")
    parser.add_argument("--then", default="", help="folders of a second round, for survivors")
    parser.add_argument("--keywords", default="not postgresql", help="pytest's -k")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests per mutant")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
