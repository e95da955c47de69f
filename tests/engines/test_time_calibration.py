"""`tacit calibrate`: made-up neighbours, their plans and times, and what is refused."""

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from prepared import FILE, TEXT
from serving import PATIENTS

from tacit.audit import time_calibration
from tacit.audit.busy_places import BusyPlaces
from tacit.audit.time_calibration import (
    HEAVY,
    PEOPLE,
    SALT,
    Calibrated,
    Movement,
    SyntheticTables,
    TimeCalibration,
    catalog_to_measure,
    median_bounds,
    plan_of,
    shapes_of,
)
from tacit.cli.main import main
from tacit.core.catalog import Catalog
from tacit.engines import duckdb as engine
from tacit.errors import InvalidValue
from tacit.session.engines import read_project


def catalog_in(folder: Path, text: str) -> Catalog:
    file = folder / "tacit.toml"
    file.write_text(text.replace("ENGINE", FILE))
    declared = read_project(file).catalog
    return catalog_to_measure(declared, "patients", ["warehouse"])


@pytest.fixture
def tables(tmp_path: Path) -> SyntheticTables:
    return SyntheticTables(catalog_in(tmp_path, TEXT), rows=300, heavy=50)


@pytest.mark.parametrize("text", [TEXT, PATIENTS], ids=["one table", "a link"])
def test_made_up_neighbours_differ_in_one_person_and_have_equal_plans(
    text: str, tmp_path: Path
) -> None:
    made = SyntheticTables(catalog_in(tmp_path, text), rows=300, heavy=50)
    crowd, read = made.open(None)
    found = list(shapes_of(read))
    assert len(found) >= 5
    plans = [plan_of(shape, crowd, read) for shape in found]
    counted = "SELECT COUNT(*) FROM visits"
    [(without,)] = crowd.connection.execute(counted).fetchall()
    for person in PEOPLE:
        database, catalog = made.open(person)
        assert [plan_of(shape, database, catalog) for shape in found] == plans
        [(rows,)] = database.connection.execute(counted).fetchall()
        assert rows - without == (50 if person == HEAVY else 1)
        copied = [
            row
            for dataset in catalog.datasets
            if dataset.copy is not None
            for part in dataset.copy.tables
            for row in database.connection.execute(
                f'SELECT * FROM "{part[-1]}"'  # noqa: S608 - names of ours
            ).fetchall()
        ]
        assert len(copied) > without  # the person is in the copies too
        database.close()
    crowd.close()


def test_a_plan_that_depends_on_one_person_is_refused(
    tables: SyntheticTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: the planner as it comes, by statistics."""
    old = "SET disabled_optimizers = 'top_n_window_elimination'"
    monkeypatch.setattr(engine, "fix_plans", lambda run: run(old))
    with pytest.raises(InvalidValue, match="depends on the rows of one person"):
        TimeCalibration(tables, rounds=15).run()


@dataclass
class FakeSide:
    """A database whose runs take so many milliseconds, by a clock of the test."""

    clock: list[int]
    milliseconds: Callable[[], float]

    def run(self, *_: object) -> None:
        self.clock[0] += round(self.milliseconds() * 10**6)

    @property
    def engine(self) -> Any:
        return self


def measured(tables: SyntheticTables, crowd: float, control: float, more: float) -> Calibrated:
    clock = [0]
    sides: Any = [
        (FakeSide(clock, lambda took=took: took), tables.catalog)  # type: ignore[misc]
        for took in (crowd, control, more)
    ]
    calibration = TimeCalibration(tables, rounds=21, clock=lambda: clock[0])
    [shape, *_] = shapes_of(tables.catalog)
    run = calibration._run_here(shape, sides)
    return Calibrated((calibration._measure(shape, HEAVY, run),))


@pytest.mark.parametrize(
    ("moved", "proposal"), [(0.03, "0.1"), (0.3, "1"), (-0.3, "1"), (3, "10"), (40, "100")]
)
def test_the_proposal_is_twice_what_was_seen(
    moved: float, proposal: str, tables: SyntheticTables
) -> None:
    found = measured(tables, 50, 50, 50 + moved)
    found.check()
    assert found.proposal == Fraction(proposal)
    assert found.movements[0].moved == pytest.approx(moved)
    # places that share a core: nothing was measured about them, so that a factor is taken
    assert Calibrated(found.movements, crowding=8).proposal >= 8 * Fraction(abs(moved))


def test_a_machine_that_is_too_loud_proposes_nothing(tables: SyntheticTables) -> None:
    loud = measured(tables, 50, 55, 50.1)
    with pytest.raises(InvalidValue, match="Other work on this machine disturbs"):
        loud.check()
    measured(tables, 50, 50.1, 50.1).check()


def test_noise_that_also_raises_the_proposal_is_noticed(tables: SyntheticTables) -> None:
    """Both differences jump by 100 ms in turn: the medians are 0, and the proposal is large."""
    clock, jumps = [0], itertools.count()

    def loud() -> float:
        return 200.0 if next(jumps) % 3 else 100.0

    sides: Any = [(FakeSide(clock, loud), tables.catalog) for _ in range(3)]
    calibration = TimeCalibration(tables, rounds=41, clock=lambda: clock[0])
    [shape, *_] = shapes_of(tables.catalog)
    movement = calibration._measure(shape, HEAVY, calibration._run_here(shape, sides))
    found = Calibrated((movement,))
    assert abs(movement.control) * 2 <= found.proposal, "the old rule lets it pass"
    with pytest.raises(InvalidValue, match="Other work on this machine disturbs"):
        found.check()


def test_bounds_of_a_median_are_wide_enough_and_not_wider() -> None:
    """99% for 15 values: the extremes but one; with fewer than 8 there are no bounds."""
    values = [float(each) for each in range(15)]
    assert median_bounds(values) == (2.0, 12.0)
    with pytest.raises(InvalidValue, match="at least"):
        median_bounds(values[:7])
    with pytest.raises(InvalidValue, match="at least 15 rounds"):
        TimeCalibration(SimpleNamespace(), rounds=14)  # type: ignore[arg-type]


def test_the_command_proposes_and_saves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Calibrated((Movement("SELECT 1", HEAVY, 40.0, 0.1, 0.22, -0.01),))
    monkeypatch.setattr(time_calibration.TimeCalibration, "run", lambda *_: found)
    catalog_in(tmp_path, TEXT)
    file = tmp_path / "tacit.toml"
    before = file.read_text()
    said = CliRunner().invoke(main, ["calibrate", "--project", str(file)])
    assert said.exit_code == 0, said.output
    assert "Proposed: person_ms = 0.5 and expected_ms = 100" in said.output
    assert file.read_text() == before
    assert "    +0.100     0.220      40.0    -0.010  many rows: SELECT 1" in said.output
    assert "A question about patients at epsilon 0.5: Of the price, " in said.output
    assert "The least loss of a question about patients is epsilon " in said.output
    wanted = ["calibrate", "--save", "--project", str(file)]
    said = CliRunner().invoke(main, wanted, input="n\n")
    assert (said.exit_code, file.read_text()) == (1, before)
    assert 'has kind = "open" in [server.time]. With --save it becomes kind = "delay"' in (
        said.output
    )
    said = CliRunner().invoke(main, [*wanted, "--yes"])
    assert said.exit_code == 0, said.output
    assert 'The rule was kind = "open", and is kind = "delay" now.' in said.output
    time = read_project(file).serving.time
    assert time is not None
    assert (time.kind, time.person_ms, time.expected_ms) == ("delay", Fraction(1, 2), 100)
    assert time.measured is not None
    assert time.measured.startswith("measured on ")
    assert ": 100000 rows, a person of 1000 rows, 41 rounds, " in time.measured
    assert time.evidence == time.measured
    # a lower person_ms was never measured, whatever the file says about it
    file.write_text(file.read_text().replace("person_ms = 0.5", "person_ms = 0.2"))
    time = read_project(file).serving.time
    assert time is not None
    assert (time.person_ms, time.evidence) == (Fraction(1, 5), "declared, not measured")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'kind = "delay"  # a rule\nperson_ms = 1  # assumed; tacit calibrate measures it\n',
            "person_ms = 0.5  # below measured_ms it counts as declared, not measured\n",
        ),
        ('kind = "delay"\nperson_ms = 1  # by olga\n', "person_ms = 0.5  # by olga\n"),
        (
            'kind = "deadline"  # no delay\ndeadline = 5  # of all answers\n',
            "deadline = 5  # seconds after which fits leave\n",
        ),
    ],
)
def test_saving_leaves_no_comment_that_is_wrong_now(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Calibrated((Movement("SELECT 1", HEAVY, 40.0, 0.1, 0.22, -0.01),))
    monkeypatch.setattr(time_calibration.TimeCalibration, "run", lambda *_: found)
    catalog_in(tmp_path, TEXT.replace('kind = "open"\n', before))
    file = tmp_path / "tacit.toml"
    wanted = ["calibrate", "--save", "--yes", "--project", str(file)]
    assert CliRunner().invoke(main, wanted).exit_code == 0
    assert after in file.read_text()
    assert "# no delay" not in file.read_text()


def test_a_deadline_in_short_becomes_that_of_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Calibrated((Movement("SELECT 1", HEAVY, 40.0, 0.1, 0.22, -0.01),))
    monkeypatch.setattr(time_calibration.TimeCalibration, "run", lambda *_: found)
    short = "[server]\ndeadline = 2.5"
    catalog_in(tmp_path, TEXT.replace('[server.time]\nkind = "open"', short))
    file = tmp_path / "tacit.toml"
    wanted = ["calibrate", "--save", "--yes", "--project", str(file)]
    said = CliRunner().invoke(main, wanted)
    assert "Its deadline now holds for fits only." in said.output
    time = read_project(file).serving.time
    assert time is not None
    assert (time.kind, time.deadline) == ("delay", 2.5)


# All places busy ------------------------------------------------------------------------------


def files_of(tables: SyntheticTables, folder: Path) -> list[tuple[str, Catalog]]:
    """A crowd, and the crowd with somebody who has very many rows, in files."""
    made = []
    for name, heavy in (("crowd", 1), ("more", 100_000)):
        path = str(folder / f"{name}.duckdb")
        database, catalog = replace(tables, heavy=heavy).open(HEAVY, path)
        database.close()
        made.append((path, catalog))
    return made


class FakePipe:
    """The pipe of a place whose result is there at a moment of the test's clock."""

    def __init__(self, clock: list[int], acts: list[str], done: int) -> None:
        self._clock, self._acts, self._done = clock, acts, done

    def send(self, _: object) -> None:
        self._acts.append("begins")

    def poll(self, _: float) -> bool:
        return True

    def recv(self) -> str:
        self._acts.append("ends")
        self._clock[0] = max(self._clock[0], self._done * 10**6)
        return "done"


def test_all_places_begin_before_the_first_ends_and_the_last_counts() -> None:
    clock, acts = [0], list[str]()
    places = BusyPlaces(3, (), SALT, clock=lambda: clock[0])
    pipes: Any = [FakePipe(clock, acts, done) for done in (5, 9, 7)]
    places._places = [(None, pipe) for pipe in pipes]
    assert places.run(0, "SELECT 1") == 9
    assert acts == ["begins"] * 3 + ["ends"] * 3
    # the lie: places that run in turn are never busy at once
    acts.clear()
    for pipe in pipes:
        places._places = [(None, pipe)]
        places.run(0, "SELECT 1")
    assert acts == ["begins", "ends"] * 3


def test_more_places_take_longer_than_one(tables: SyntheticTables, tmp_path: Path) -> None:
    """Wall time has the load of the others, which processor time of one run does not have."""
    [shape, *_] = shapes_of(tables.catalog)
    sides = files_of(tables, tmp_path)
    many = 4 * (os.cpu_count() or 1)
    taken = {}
    for count in (1, many):
        with BusyPlaces(count, sides, SALT) as places:
            taken[count] = median([places.run(1, shape) for _ in range(7)][2:])
    assert taken[many] > 1.5 * taken[1]


def test_a_place_that_ends_is_noticed(tables: SyntheticTables, tmp_path: Path) -> None:
    [shape, *_] = shapes_of(tables.catalog)
    with BusyPlaces(2, files_of(tables, tmp_path), SALT) as places:
        places._places[1][0].kill()
        with pytest.raises(InvalidValue, match="A process of the calibration ended"):
            places.run(0, shape)


def test_a_busy_calibration_measures_every_shape_and_multiplies_nothing(
    tables: SyntheticTables,
) -> None:
    found = TimeCalibration(tables, rounds=15, busy=2, crowding=8).run()
    assert len(found.movements) == 2 * len(list(shapes_of(tables.catalog)))
    assert found.crowding == 1
    assert all(each.took > 0 for each in found.movements)


def test_a_busy_calibration_refuses_plans_that_depend_on_one_person(
    tables: SyntheticTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = "SET disabled_optimizers = 'top_n_window_elimination'"
    monkeypatch.setattr(engine, "fix_plans", lambda run: run(old))
    with pytest.raises(InvalidValue, match="depends on the rows of one person"):
        TimeCalibration(tables, rounds=15, busy=1).run()


def test_the_command_says_whether_places_were_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    movement = Movement("SELECT 1", HEAVY, 40.0, 0.1, 0.22, -0.01)
    asked: list[tuple[int, int]] = []

    def run(calibration: TimeCalibration, tell: Callable[[str], None]) -> Calibrated:
        tell("many rows: SELECT 1")
        asked.append((calibration.busy, calibration.crowding))
        return Calibrated((movement,), calibration.crowding)

    monkeypatch.setattr(time_calibration.TimeCalibration, "run", run)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    catalog_in(tmp_path, TEXT.replace('kind = "open"', 'kind = "delay"\nplaces = 16'))
    file = tmp_path / "tacit.toml"
    told = [
        CliRunner().invoke(main, ["calibrate", *more, "--project", str(file)]).output
        for more in ((), ("--busy", "--save"))
    ]
    assert asked == [(0, 4), (16, 1)]
    assert told[0].startswith("Measuring many rows: SELECT 1\n")
    assert "person_ms = 2 and" in told[0]  # 2 * 0.22 * 4
    assert "4 places on each core" in told[0]
    assert "person_ms = 0.5 and" in told[1]
    assert "with 16 busy places" in told[1]
    time = read_project(file).serving.time
    assert time is not None
    assert time.measured is not None
    assert time.measured.startswith("measured with 16 busy places on ")


def test_engines_that_plan_by_statistics_are_not_measured(tmp_path: Path) -> None:
    file = tmp_path / "tacit.toml"
    server = 'kind = "postgres"\naddress = "postgresql://tacit@127.0.0.1/clinic"'
    file.write_text(TEXT.replace("ENGINE", server))
    said = CliRunner().invoke(main, ["calibrate", "--project", str(file)])
    assert said.exit_code == 1
    assert "there is nothing to measure" in said.output
