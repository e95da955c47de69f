"""What all tests and benchmarks share: figures printed beside what was wanted, and peers."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from contextlib import closing as closed_later
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:  # a run that needs no database and no engine loads neither
    from postgres_cluster import PostgresCluster

    from tacit.store.store import SqlStore

ROOT = Path(__file__).parent

for profile, examples in {"quick": 10, "dev": 25, "ci": 30, "nightly": 5000}.items():
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("TACIT_HYPOTHESIS_PROFILE", "dev"))

COUNTED = os.environ.get("TACIT_COUNTED")
"""The file in which a stage of CI counts its tests (`.ci/run`), or None elsewhere."""

OF_PLATFORM = "platform: "
"""How the reason begins for which a test may be skipped in CI: this system cannot run it."""

Bar = Callable[[str, object, str, bool], None]
"""name, what was measured, what was wanted, and whether that is enough."""

Peer = Callable[..., dict[str, Any]]
"""A peer's name and its arguments, to the JSON object that it prints."""


def given_seconds() -> float:
    """A clock that stands still while others have this machine's cores.

    Of a second in which half of the time of all cores was stolen (a guest's cores wanted to
    run, and their host let others), it tells half. So a limit in seconds is about what is
    measured and not about neighbours; where nothing is stolen it is the usual clock.
    """
    try:
        told = Path("/proc/stat").read_text()
    except OSError:  # Linux alone tells it
        return perf_counter()
    return perf_counter() - stolen_seconds(told, os.cpu_count() or 1)


def stolen_seconds(stat: str, cores: int) -> float:
    """What was stolen of each of ``cores``, by the text of Linux's ``/proc/stat``."""
    _, _user, _nice, _system, _idle, _iowait, _irq, _softirq, steal, *_ = stat.split()
    return int(steal) / os.sysconf("SC_CLK_TCK") / cores


class SparkTogether(LoadScopeScheduling):  # type: ignore[misc]
    """Gives all tests on Spark to one worker, since a Spark is slow to start."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if runs_on_spark(nodeid) else nodeid


def runs_on_spark(nodeid: str) -> bool:
    """Return whether a test has its name, or the engine that it is about, from Spark."""
    # the tests of this file run on every engine, and so on Spark
    return "spark" in nodeid.lower() or "engines/test_neighbours.py" in nodeid


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option by which tests on Spark are run apart from all others."""
    help_of_it = "which tests to run: all, those on Spark only, or none of those"
    parser.addoption("--spark", choices=("all", "only", "none"), default="all", help=help_of_it)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that the option `--spark` asks for."""
    if (asked := config.getoption("--spark")) == "all":
        return
    left_out = [item for item in items if runs_on_spark(item.nodeid) is (asked == "none")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if runs_on_spark(item.nodeid) is (asked == "only")]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SparkTogether | None:
    """Share out tests by `SparkTogether` where `--dist loadgroup` is asked for."""
    return SparkTogether(config, log) if config.getvalue("dist") == "loadgroup" else None


PROBED = os.environ.get("TACIT_PROBED")
"""How the files begin in which the processes of a stage of CI write the lines that they ran."""

if PROBED:
    # here and not in a hook: files like this one in folders of tests, which pytest reads next,
    # import Tacit, and what is loaded before the probes would not be measured
    from probed_coverage import Probes

    PROBES = Probes()


def pytest_configure(config: pytest.Config) -> None:
    """Write at the end what a process of a measured stage ran that has tests of its own."""
    worker = getattr(config, "workerinput", {}).get("workerid")
    if not PROBED or (worker is None and config.getoption("numprocesses", None)):
        return
    os.environ.pop("TACIT_PROBED")  # what tests start is not measured
    place = Path(f"{PROBED}.{worker}.json")
    config.add_cleanup(lambda: PROBES.write(place))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Count the tests of a stage of CI, and fail it where one is skipped without a platform."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not COUNTED or reporter is None or hasattr(session.config, "workerinput"):
        return
    with Path(COUNTED).open("a") as counted:
        counted.write(f"{len(reporter.stats.get('passed', []))}\n")
    for skipped in reporter.stats.get("skipped", []):
        reason = str(skipped.longrepr[2]).removeprefix("Skipped: ")
        if not reason.startswith(OF_PLATFORM):
            reporter.write_line(f"\n{skipped.nodeid} was skipped, which fails CI: {reason}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def bar(record_property: Callable[[str, object], None]) -> Iterator[Bar]:
    """Prints a figure at the end of the run, and fails the test where it falls short."""
    short: list[str] = []

    def show(name: str, measured: object, wanted: str, ok: bool) -> None:  # noqa: FBT001
        figure = f"{measured:.4g}" if isinstance(measured, float) else str(measured)
        line = f"bar {name}: {figure} (wanted {wanted}) {'ok' if ok else 'short'}"
        record_property("bar", line)
        if not ok:
            short.append(line)

    yield show
    if short:
        pytest.fail("\n".join(short), pytrace=False)


@pytest.fixture(autouse=True)
def no_statement_is_kept() -> Iterator[None]:
    """Forget the statements that a test printed, perhaps by a lie, before the next test."""
    forget_statements()
    yield
    forget_statements()


@pytest.fixture(autouse=True)
def priority_stays() -> Iterator[None]:
    """Fail a test that lowers the priority of this process: all later tests would keep it."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    yield
    if os.getpriority(os.PRIO_PROCESS, 0) != before:
        pytest.fail("the test changed the priority of its process", pytrace=False)


def forget_statements() -> None:
    """Empty the cache of printed statements, where the module that holds it was loaded."""
    asking = sys.modules.get("tacit.engines.sql_engine")
    if asking is not None:
        asking.statement.cache_clear()


@pytest.fixture(scope="session")
def cluster() -> "Iterator[PostgresCluster]":
    """A private PostgreSQL on loopback, started when the first test asks for it."""
    from postgres_cluster import PostgresCluster  # noqa: PLC0415 - few runs need it

    # outside pytest's own folder, which a second run closes to the server's user
    with TemporaryDirectory(prefix="tacit-postgres-") as place:
        made = PostgresCluster(Path(place))
        yield made
        made.stop("immediate")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder for a PostgreSQL of a test's own, which no other run of pytest closes."""
    with TemporaryDirectory(prefix="tacit-postgres-") as place:
        yield Path(place)


@pytest.fixture
def new_store(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The address of a new, empty store of a kind: ``sqlite`` or ``postgresql``."""
    numbers = count()

    def make(kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/{next(numbers)}/ledger.db"
        cluster: PostgresCluster = request.getfixturevalue("cluster")
        return cluster.database(f"tacit_{uuid4().hex}")

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def store_address(request: pytest.FixtureRequest, new_store: Callable[[str], str]) -> str:
    """The address of a new, empty store, once of each kind."""
    return new_store(request.param)


@pytest.fixture
def opened() -> "Iterator[Callable[[str], SqlStore]]":
    """Opens stores, as often as a test likes, and closes them after it."""
    from tacit.store.connect import open_store  # noqa: PLC0415 - few runs need it

    with ExitStack() as closing:
        yield lambda address: closing.enter_context(closed_later(open_store(address)))


@pytest.fixture
def store(store_address: str, opened: "Callable[[str], SqlStore]") -> "SqlStore":
    """A new, empty store, once of each kind."""
    return opened(store_address)


@pytest.fixture(scope="session")
def peer() -> Peer:
    """Runs another system in its own locked environment, which `just peers` builds."""

    def run(
        name: str, *arguments: object, script: str = "draw.py", given: object = None
    ) -> dict[str, Any]:
        place = ROOT / "benchmarks" / "peers" / name
        if not (place / ".venv").exists():
            pytest.fail(
                f"the environment of {name} is not built: run `just peers`", pytrace=False
            )
        command = [
            "uv",
            "run",
            "--project",
            place,
            "--locked",
            "--no-sync",
            "python",
            place / script,
        ]
        environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
        done = subprocess.run(  # noqa: S603 - our own command
            [*map(str, command), *map(str, arguments)],
            check=True,
            stdout=subprocess.PIPE,
            input=json.dumps(given).encode(),
            env=environment,
        )
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed

    return run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the bars of all tests, one line each."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    lines = dict.fromkeys(
        str(value)
        for report in reports
        for name, value in getattr(report, "user_properties", [])
        if name == "bar"
    )
    if lines:
        terminalreporter.write_line("")
    for line in lines:
        terminalreporter.write_line(line)
