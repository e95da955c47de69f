"""`tacit calibrate`: measure how far one person moves the time of a question.

The measurement uses synthetic rows of the declared columns, so that it reads no personal data
and is free. It proposes the ``person_ms`` of ``[server.time]``.
"""

import os
import platform
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from tacit.accounting import rho_within, show_loss
from tacit.cli import options
from tacit.core import Loss, Measure
from tacit.errors import InvalidValue
from tacit.extras import later
from tacit.ledger import utc_day, wall_clock
from tacit.numeric import plain
from tacit.project import DELAY, Project, ProjectText, ServerTime
from tacit.query import least_delayed, price_time
from tacit.session import budget_of, engines_with_fixed_plans, read_project

USUAL = Fraction(1, 2)
"""The epsilon for which the delay is shown."""

PLACE = ("server", "time")

HEADER = """
One person more moves the time of a question. All times are milliseconds of {clock}.
  moved: the median difference of times, without and with that person
  most:  the upper 99% bound of that difference
  took:  the median time of the question
  noise: the median difference of two equal databases

     moved      most      took     noise  person: question"""


def _tell(step: str) -> None:
    """Say on the standard error which question is measured now."""
    click.echo(f"Measuring {step}", err=True)


@click.command()
@click.option(
    "--rows",
    type=click.IntRange(100, 10**8),
    default=100_000,
    show_default=True,
    help="Number of rows of each synthetic table: about that of the largest real table.",
)
@click.option(
    "--person-rows",
    type=click.IntRange(1, 10**7),
    default=1000,
    show_default=True,
    help="Number of rows of the heaviest person that is allowed for.",
)
@click.option(
    "--rounds",
    type=click.IntRange(15, 10_000),
    default=41,
    show_default=True,
    help="Number of runs of each question on each database.",
)
@click.option(
    "--busy",
    is_flag=True,
    help="Measure wall time while all places of the server run the same question.",
)
@click.option("--save", is_flag=True, help="Write the proposal into [server.time].")
@click.option(
    "--yes", is_flag=True, help='With --save: change to kind = "delay" without confirmation.'
)
@options.project
def calibrate(  # noqa: PLR0913 - the options of the command
    *,
    rows: int,
    person_rows: int,
    rounds: int,
    busy: bool,
    save: bool,
    yes: bool,
    project: Path,
) -> None:
    """Measure on synthetic neighbours how far one person moves the time of a question.

    No personal data is read. Run it on the machine that will serve, while nothing else runs.
    Without --busy, one question runs at a time, and what is measured is multiplied by the
    number of places that share a core.
    """
    declared = read_project(project)
    if save and not yes:
        _confirm_kind(declared.serving.time, project)
    engines = engines_with_fixed_plans(declared)
    measuring = later("tacit.audit.time_calibration")
    # every engine has places of its own, and all of them share the cores
    places = declared.serving.places * max(1, len(engines))
    crowding = 1 if busy else -(-places // (os.cpu_count() or 1))
    each_core = f"{_count(crowding, 'place')} on each core"
    load = f"with {_count(places, 'busy place')}" if busy else f"and {each_core}"
    found = []
    for population in declared.catalog.populations:
        catalog = measuring.catalog_to_measure(declared.catalog, population.name, engines)
        if catalog.datasets:
            tables = measuring.SyntheticTables(catalog, rows, person_rows)
            settings = (rounds, crowding, places if busy else 0)
            found.append(measuring.TimeCalibration(tables, *settings).run(_tell))
    if not found:
        raise InvalidValue(
            "No engine of this project has plans that depend on statements alone, so that "
            'there is nothing to measure. Choose kind = "deadline" in [server.time].'
        )
    click.echo(HEADER.format(clock="the clock" if busy else "processor time"))
    for calibrated in found:
        for each in calibrated.movements:
            click.echo(
                f"{each.moved:+10.3f}{each.bound:10.3f}{each.took:10.1f}{each.control:+10.3f}  "
                f"{each.person}: {each.shape}"
            )
    for calibrated in found:
        calibrated.check()
    proposal = max(calibrated.proposal for calibrated in found)
    expected = max(calibrated.expected for calibrated in found)
    click.echo(
        f"\nProposed: person_ms = {plain(proposal)} and expected_ms = {plain(expected)}, in "
        f"milliseconds, for {rows} rows in each table, a person of {person_rows} rows, {load}."
    )
    for line in _delays(declared, proposal):
        click.echo(line)
    if not save:
        return
    today = utc_day(wall_clock())
    how = f"measured with {_count(places, 'busy place')}" if busy else "measured"
    where = f"{how} on {platform.node() or 'this machine'}, {today}"
    work = f"{rows} rows, a person of {person_rows} rows, {rounds} rounds"
    _save(
        project,
        declared,
        proposal,
        expected,
        f"{where}: {work}{'' if busy else f', {each_core}'}",
    )


def _confirm_kind(time: ServerTime | None, project: Path) -> None:
    """Ask for confirmation before the measurement, if --save would change the rule."""
    if time is not None and time.kind != DELAY:
        click.confirm(
            f'{project.name} has kind = "{time.kind}" in [server.time]. With --save it becomes '
            f'kind = "{DELAY}": answers then leave after a random delay, which is charged. '
            "Change it?",
            abort=True,
        )


def _delays(declared: Project, proposal: Fraction) -> Iterator[str]:
    """Yield what the proposal means for questions: a delay, and the least loss."""
    before = declared.serving.time or ServerTime(DELAY, seconds=declared.serving.seconds)
    time = replace(before, kind=DELAY, person_ms=proposal)
    for people in declared.people:
        budget = budget_of(people.budget)
        if budget.cap.measure is not Measure.ZCDP:
            continue  # it cannot pay for a delay, and `tacit serve` says so
        name, at = people.population.name, budget.conversion_delta
        least, usual = least_delayed(time), Loss.zcdp(rho_within(USUAL, at))
        priced = price_time(time, usual)
        if priced is not None and least <= usual:
            yield f"A question about {name} at epsilon {plain(USUAL)}: {priced.sentence}"
        yield (
            f"The least loss of a question about {name} is {show_loss(least, at)}: for less, "
            "its delay could be longer than half of `seconds`, and it is refused."
        )


def _save(
    project: Path, declared: Project, proposal: Fraction, expected: Fraction, how: str
) -> None:
    """Write the proposal into the project file, and say what was changed."""
    source, time = ProjectText.at(project), declared.serving.time
    values: dict[str, Any] = {
        "kind": DELAY,
        "person_ms": _number(proposal),
        "measured_ms": _number(proposal),
        "expected_ms": _number(expected),
        "measured": how,
    }
    comments: dict[str, str] = {}
    if "assumed" in source.comment_of((*PLACE, "person_ms")):
        comments["person_ms"] = "below measured_ms it counts as declared, not measured"
    said = ""
    if time is not None and time.kind != DELAY:
        said = f' The rule was kind = "{time.kind}", and is kind = "{DELAY}" now.'
        comments["kind"] = "a random delay, which is charged as a part of the loss"
        if time.deadline is not None:
            source = source.without(("server", "deadline"))
            values["deadline"] = _number(Fraction(str(time.deadline)))
            comments["deadline"] = "seconds after which fits leave"
            said += " Its deadline now holds for fits only."
    for name, value in values.items():
        source = source.with_value((*PLACE, name), value, comments.get(name))
    source.save(project)
    click.echo(f"Saved to {project.name}.{said} The server reads it when it starts.")


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
