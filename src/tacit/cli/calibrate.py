"""`tacit calibrate`: measure how far one person moves the time of a question.

The measurement uses synthetic rows of the declared columns, so that it reads no personal data
and is free. It proposes the ``person_ms`` of ``[server.time]``.
"""

import os
import platform
from pathlib import Path

import click

from tacit.cli import options
from tacit.errors import InvalidValue
from tacit.extras import later
from tacit.ledger import utc_day, wall_clock
from tacit.numeric import plain
from tacit.project import DELAY, ProjectText
from tacit.session import engines_with_fixed_plans, read_project


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
@options.project
def calibrate(  # noqa: PLR0913 - the options of the command
    *, rows: int, person_rows: int, rounds: int, busy: bool, save: bool, project: Path
) -> None:
    """Measure on synthetic neighbours how far one person moves the time of a question.

    No personal data is read. Run it on the machine that will serve, while nothing else runs.
    Without --busy, one question runs at a time, and what is measured is multiplied by the
    number of places that share a core.
    """
    declared = read_project(project)
    engines = engines_with_fixed_plans(declared)
    measuring = later("tacit.audit.time_calibration")
    # every engine has places of its own, and all of them share the cores
    places = declared.serving.places * max(1, len(engines))
    crowding = 1 if busy else -(-places // (os.cpu_count() or 1))
    load = f"with {places} busy places" if busy else f"and {crowding} places on each core"
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
    for calibrated in found:
        for each in calibrated.movements:
            click.echo(
                f"{each.moved:+9.3f} ms, at most {each.bound:.3f} of {each.took:.1f} "
                f"(control {each.control:+.3f}), {each.person}: {each.shape}"
            )
    for calibrated in found:
        calibrated.check()
    proposal = max(calibrated.proposal for calibrated in found)
    expected = max(calibrated.expected for calibrated in found)
    click.echo(
        f"Proposed: person_ms = {plain(proposal)} and expected_ms = {plain(expected)}, for "
        f"{rows} rows in each table, a person of {person_rows} rows, {load}."
    )
    if not save:
        return
    today = utc_day(wall_clock())
    how = f"measured with {places} busy places" if busy else "measured"
    source = ProjectText.at(project)
    for name, value in (
        ("kind", DELAY),
        ("person_ms", int(proposal) if proposal.denominator == 1 else float(proposal)),
        ("expected_ms", int(expected) if expected.denominator == 1 else float(expected)),
        ("measured", f"{how} on {platform.node() or 'this machine'}, {today}"),
    ):
        source = source.with_value(("server", "time", name), value)
    source.save(project)
    click.echo(f"Saved to {project.name}. The server reads it when it starts.")
