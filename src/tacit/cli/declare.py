"""`tacit protect`, `budget`, `limits`, `domain`, `epoch`: change a declaration in the file.

The commands edit tacit.toml and keep its comments. A change takes effect when `tacit apply`
records it in the ledger.
"""

from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from tacit.cli import options
from tacit.cli.options import show
from tacit.core import Dataset, DatedEpoch
from tacit.errors import InvalidValue
from tacit.numeric import exact, plain
from tacit.plan import Span
from tacit.project import (
    PROVENANCES,
    ProjectText,
    RowRules,
    check_known,
    column_facts,
    declare_domain,
    limit_rows,
    parse_known,
    protect_dataset,
    set_budget,
)
from tacit.render import spell
from tacit.session import (
    WHAT,
    EpochMove,
    LimitsEstimate,
    Session,
    dated_epochs_of,
    epoch_name,
    open_project,
    project_and_ledger,
)

NEXT = "Saved to {}. Run `tacit apply` to record it."


@click.command()
@click.argument("dataset")
@click.option("--unit", help="The column that identifies the person.")
@click.option("--link", help="COLUMN=TABLE.COLUMN, a foreign key that leads to the person.")
@click.option(
    "--unique", is_flag=True, help="The linked column has a unique constraint in the database."
)
@click.option(
    "--max-groups",
    type=int,
    help="Most groups of an answer in which one person counts. Needed the first time.",
)
@click.option(
    "--max-rows",
    type=int,
    help="Most rows of one person that count in each group. Needed the first time.",
)
@click.option("--max-rows-in-all", type=int, help="Most rows of one person that are read.")
@click.option(
    "--max-length",
    help="Most length of a person's rows by group, as a vector, such as 5.7.",
)
@click.option("--most-rows", type=int, help="Most rows that anybody can have, a public fact.")
@click.option("--most-rows-source", help="The public fact from which --most-rows is known.")
@click.option("--min-people", type=int, help="Least number of people in a cell that is shown.")
@click.option("--row-key", help="The column that identifies a row of a person.")
@click.option("--one-row", is_flag=True, help="Each person has one row.")
@click.option(
    "--in-place", is_flag=True, help="Serve the table itself, without a validated copy."
)
@options.project
def protect(  # noqa: PLR0913 - one for each option
    *,
    dataset: str,
    unit: str | None,
    link: str | None,
    unique: bool,
    max_groups: int | None,
    max_rows: int | None,
    max_rows_in_all: int | None,
    max_length: str | None,
    most_rows: int | None,
    most_rows_source: str | None,
    min_people: int | None,
    row_key: str | None,
    one_row: bool,
    in_place: bool,
    project: Path,
) -> None:
    """Declare which person each row of DATASET belongs to, and the per-person limits.

    Other declarations of DATASET in the project file stay as they are.
    """
    linked = None if link is None else _link(link, unique=unique)
    if unique and linked is None:
        raise InvalidValue("--unique is about the column of --link. Add --link too.")
    rules = RowRules(
        unit=unit,
        link=linked,
        max_groups=max_groups,
        max_rows=max_rows,
        max_rows_in_all=max_rows_in_all,
        max_length=max_length,
        most_rows=most_rows,
        most_rows_source=most_rows_source,
        min_people=min_people,
        row_key=row_key,
        one_row=one_row,
        in_place=in_place,
    )
    source = project_text_with(project, "datasets", dataset)
    write(project, protect_dataset(source, dataset, rules))


@click.command()
@click.argument("population")
@click.option("--epsilon", required=True, help="Epsilon of all releases together.")
@click.option("--delta", help="Delta of all releases together. Without it, epsilon is pure.")
@click.option(
    "--quota",
    multiple=True,
    metavar="WHO=EPSILON",
    help="The part of the budget that an analyst or @group may spend.",
)
@click.option(
    "--default-quota",
    metavar="EPSILON",
    help="The part that each analyst may spend who has no quota of their own.",
)
@options.project
def budget(  # noqa: PLR0913 - one for each option
    *,
    population: str,
    epsilon: str,
    delta: str | None,
    quota: tuple[str, ...],
    default_quota: str | None,
    project: Path,
) -> None:
    """Set the total privacy budget of POPULATION."""
    place = ("populations", population)
    source = project_text_with(project, "populations", population)
    source = set_budget(source, population, epsilon, delta)
    for each in quota:
        who, _, amount = each.partition("=")
        source = source.with_value((*place, "quotas", who), {"epsilon": amount})
    if default_quota is not None:
        source = source.with_value((*place, "default_quota"), {"epsilon": default_quota})
    write(project, source)


def project_text_with(project: Path, section: str, name: str) -> ProjectText:
    """Read the project file; raise `UnknownName` if ``section`` does not have ``name``."""
    source = ProjectText.at(project)
    check_known(source, section, name)
    return source


def write(project: Path, source: ProjectText) -> None:
    """Write the project file, and print the next step."""
    source.save(project)
    click.echo(NEXT.format(project.name))


def _link(text: str, *, unique: bool) -> dict[str, Any]:
    column, _, parent = text.partition("=")
    table, _, above = parent.partition(".")
    link = {"column": column, "parent": table, "parent_column": above}
    if not all(link.values()):
        raise InvalidValue("A link must be COLUMN=TABLE.COLUMN, such as patient=patients.id.")
    return link | ({"unique_by_constraint": True} if unique else {})


# ------------------------------------------------------------------ limits
# Without --estimate, `tacit limits` prints public facts. With it, the rows of people are
# profiled for a charge, the owner chooses a limit, and the file gets the limit and its profile.


@click.command()
@click.argument("dataset")
@click.option("--estimate", is_flag=True, help="Measure the rows of people, for a charge.")
@click.option("--column", help="Measure the totals of this column instead, for max_total.")
@click.option("--epsilon", help="Privacy loss of the estimate. Default: 5% of the budget.")
@click.option("--limit", help="The limit to set. Default: the suggested one.")
@click.option("--yes", is_flag=True, help="Charge and choose without asking for confirmation.")
@options.project
@options.principal
def limits(  # noqa: PLR0913 - one for each option
    *,
    dataset: str,
    estimate: bool,
    column: str | None,
    epsilon: str | None,
    limit: str | None,
    yes: bool,
    project: Path,
    principal: str,
) -> None:
    """Show the limits of DATASET, or estimate which limit of rows fits, for a charge.

    A limit that is too low cuts rows, and one that is too high adds noise. The estimate shows
    both for each limit, and the chosen one is written to the project file.
    """
    source = project_text_with(project, "datasets", dataset)
    with open_project(project, principal=principal) as session:
        declared = session.catalog.dataset(dataset)
        if not estimate:
            if yes or any(each is not None for each in (column, epsilon, limit)):
                raise InvalidValue(
                    "Add --estimate to measure a limit. To set one without measuring, write "
                    "max_rows, or max_total of a column, into the project file."
                )
            for line in _limit_facts(declared, session.catalog.epochs_of(dataset)):
                click.echo(line)
            return
        half = None if epsilon is None else exact(epsilon) / 2
        price = "5% of the budget" if epsilon is None else f"epsilon {epsilon}"
        if not yes:
            click.confirm(f"Charge {price} for the limits of {dataset}?", abort=True)
        found = session.limits(dataset, column=column, epsilon=half)
        chosen = _choose_limit(found, limit, yes=yes)
        if column is None:
            source = _with_rows(session, source, found, chosen, half)
        else:
            source = _with_total(session, source, found, chosen, half)
    write(project, source)


def _choose_limit(found: LimitsEstimate, limit: str | None, *, yes: bool) -> Fraction:
    """Show an estimate, and return the limit that the owner chose, or the suggested one."""
    show(found.columns, found.notes, repr(found))
    if limit is None and not yes:
        limit = str(click.prompt(found.name, plain(found.suggested)))
    chosen = found.suggested if limit is None else exact(limit)
    if found.column is None and chosen.denominator != 1:
        raise InvalidValue(f"max_rows must be a whole number, and {limit} was given.")
    return chosen


def _with_rows(
    session: Session,
    source: ProjectText,
    found: LimitsEstimate,
    chosen: Fraction,
    epsilon: Fraction | None,
) -> ProjectText:
    """Measure a profile of rows, and return the file with it and the limit."""
    profile = session.profile(found.dataset, int(chosen), epsilon=epsilon)
    click.echo(
        "With probability 99%, at most "
        f"{spell(profile.people, f'{found.unit} has', f'{found.unit}s have')} more than "
        f"{spell(profile.rows, 'row')} of {found.dataset}, in epoch {profile.epoch!r}.\n"
        f"max_rows and max_length become {profile.rows}."
    )
    return limit_rows(source, found.dataset, profile)


def _with_total(
    session: Session,
    source: ProjectText,
    found: LimitsEstimate,
    chosen: Fraction,
    epsilon: Fraction | None,
) -> ProjectText:
    """Measure a profile of totals, and return the file with it and the limit."""
    column = str(found.column)
    profile = session.total_profile(found.dataset, column, chosen, epsilon=epsilon)
    click.echo(
        f"With probability 99%, at most {profile.people} {found.unit}s have a total of "
        f"{found.dataset}.{column} above {plain(chosen)}, in epoch {profile.epoch!r}."
    )
    place = ("datasets", found.dataset, "columns", column)
    facts = source.root().value["datasets"][found.dataset]["columns"][column]
    said = {"amount": plain(chosen), "people": profile.people}
    said |= {"epoch": profile.epoch, "release": profile.release}
    return source.with_value(place, facts | {"max_total": plain(chosen), "total_profile": said})


def _limit_facts(dataset: Dataset, epochs: str) -> list[str]:
    """Return what is declared about the rows of people, and the next step.

    ``epochs`` are those of the tables from the dataset to the person.
    """
    found = dataset.limits
    rows = "1 row" if found.max_rows == 1 else f"{found.max_rows} rows"
    groups = "1 group" if found.max_groups == 1 else f"{found.max_groups} groups"
    said = [f"{dataset.name}: at most {rows} of a person count in a group, in {groups}."]
    if found.max_length is not None:
        said.append(f"By group they are a vector of length {plain(found.max_length)} at most.")
    if dataset.most_rows is not None:
        most = dataset.most_rows
        said.append(
            f"Declared: nobody has more than {spell(most.rows, 'row')} ({most.source})."
        )
    profile = dataset.profile
    if profile is not None:
        old = "" if profile.epoch == epochs else "; the data are of another epoch"
        said.append(
            f"Measured for epoch {profile.epoch!r}: at most "
            f"{spell(profile.people, 'person has', 'people have')} more than "
            f"{spell(profile.rows, 'row')} (99%){old}."
        )
    if dataset.tail is not None:
        tail = dataset.tail
        said.append(f"Assumed: they have {tail.rows} further rows on average ({tail.source}).")
    if profile is None and dataset.most_rows is None:
        said.append(
            "Nobody knows how many rows this cuts. To measure it for 5% of the budget, run "
            f"`tacit limits {dataset.name} --estimate`."
        )
    return said


# ------------------------------------------------------------------ domain
# Bounds and keys of a column are declared by the owner, or estimated privately and charged.


@click.command()
@click.argument("column", metavar="DATASET.COLUMN")
@click.argument("known", metavar="[LOW..HIGH|KEY,KEY,...]", required=False)
@click.option(
    "--source",
    "known_from",
    type=click.Choice(list(PROVENANCES)),
    help="Where the bounds or keys are known from.",
)
@click.option(
    "--estimate", type=click.Choice(WHAT), help="Estimate them from the data, for a charge."
)
@click.option("--max-total", help="Most that one person adds to a sum of the column.")
@click.option("--epsilon", help="Privacy loss of an estimate, such as 0.2.")
@click.option("--delta", default="0", help="Delta of an estimate of keys, such as 1e-10.")
@click.option("--yes", is_flag=True, help="Charge an estimate without asking for confirmation.")
@options.project
@options.principal
def domain(  # noqa: PLR0913 - one for each option
    *,
    column: str,
    known: str | None,
    known_from: str | None,
    estimate: str | None,
    max_total: str | None,
    epsilon: str | None,
    delta: str,
    yes: bool,
    project: Path,
    principal: str,
) -> None:
    """Declare the bounds of a column, such as 0..100, or its keys, such as a,b,c.

    With --estimate they are estimated from the data with differential privacy, and charged to
    the budget.
    """
    dataset, _, name = column.partition(".")
    source = project_text_with(project, "datasets", dataset)
    facts = column_facts(source, dataset, name)
    if estimate is None:
        if known is None or known_from is None:
            raise InvalidValue(
                "Declare the bounds or keys and their source, as in `tacit domain "
                f"{column} 0..100 --source public`, or estimate them for a charge, as in "
                f"`tacit domain {column} --estimate bounds --epsilon 0.2`."
            )
        found = parse_known(known, whole=facts.get("kind") == "integer")
    else:
        if known is not None or known_from not in {None, "estimated"} or epsilon is None:
            raise InvalidValue(
                "An estimate needs --epsilon, such as 0.2, and no bounds, keys or --source."
            )
        found = {
            estimate: _estimate(
                project, principal, (dataset, name, estimate), epsilon, delta, yes=yes
            )
        }
        known_from = "estimated"
    write(project, declare_domain(source, dataset, name, found, str(known_from), max_total))


def _estimate(  # noqa: PLR0913 - who is charged how much for what
    project: Path,
    principal: str,
    wanted: tuple[str, str, str],
    epsilon: str,
    delta: str,
    *,
    yes: bool,
) -> list[Any]:
    """Show the price of an estimate, ask for confirmation, and return the estimate."""
    with open_project(project, principal=principal) as session:
        estimate = session.estimate(*wanted)
        for note in estimate.question.quote(epsilon=epsilon, delta=delta).notes:
            click.echo(note)
        if not yes:
            click.confirm(
                f"Charge this for an estimate of the {wanted[-1]}, as {principal}?", abort=True
            )
        answer = estimate.question.ask(epsilon=epsilon, delta=delta)
        click.echo(str(answer.standing))
        found = estimate.read(answer)
    click.echo(f"Estimated {wanted[-1]}: {', '.join(map(str, found))}")
    return found


# ------------------------------------------------------------------ epoch
# The epoch of a table: the owner's public name for a state of its data.

SPANS = {span.value.lower(): span for span in Span}


@click.command()
@click.argument("datasets", metavar="DATASET...", nargs=-1, required=True)
@click.option("--to", "label", help="The name of the new epoch, such as 2026-W46.")
@click.option(
    "--every",
    type=click.Choice(list(SPANS)),
    help="Name the epoch after the last period that is over. For cron or a timer.",
)
@click.option(
    "--wait",
    type=click.IntRange(0, 3650),
    default=0,
    help="With --every: days for late rows after the end of a period.",
)
@click.option("--apply", "apply_", is_flag=True, help="Record the epoch in the ledger at once.")
@click.option("--by", help="env:VARIABLE with the address of a role that may drop copies.")
@options.project
@options.principal
def epoch(  # noqa: PLR0913 - one for each option
    *,
    datasets: tuple[str, ...],
    label: str | None,
    every: str | None,
    wait: int,
    apply_: bool,
    by: str | None,
    project: Path,
    principal: str,
) -> None:
    """Move each DATASET to a new epoch, because its data has changed; or show its epoch.

    New questions are then answered from the new data, and charged. Answers of the earlier
    epoch stay in the ledger with their dates.
    """
    if label is not None and every is not None:
        raise InvalidValue("Name the epoch by either --to or --every.")
    if label is None and every is None:
        for each in dated_epochs_of(project, datasets):
            since = "not in the ledger yet" if each.since is None else f"since {each.since}"
            click.echo(f"{each.table}: epoch {each.label!r}, {since}")
        return
    named = label if label is not None else _name_of_period(project, SPANS[every or ""], wait)
    move = EpochMove(project, tuple(dict.fromkeys(datasets)), named, by)
    if not apply_:
        before = move.save()
        if before:
            click.echo(f"Moved {_list_epochs(before)} to epoch {named!r}.")
            click.echo(NEXT.format(project.name))
        else:
            click.echo(f"Already at epoch {named!r}, and nothing was changed.")
        return
    before, recorded = move.record(principal)
    if recorded:
        click.echo(f"Moved {_list_epochs(before) or ', '.join(datasets)} to epoch {named!r}.")
        click.echo(
            f"Recorded by {principal}. New questions read the new data and are charged again. "
            "The answers of earlier epochs stay in the ledger, with their dates."
        )
    else:
        click.echo(f"Already at epoch {named!r}, and nothing was changed.")
    for name, dropped in move.drop_copies():
        what = "was dropped" if dropped else "could not be dropped, and is no longer read"
        click.echo(f"The earlier copy of {name} {what}. Make a new one: tacit prepare {name}")


def _name_of_period(project: Path, span: Span, wait: int) -> str:
    with project_and_ledger(project) as (_, home):
        return epoch_name(span, home.ledger.today() - timedelta(days=wait))


def _list_epochs(before: Sequence[DatedEpoch]) -> str:
    return ", ".join(f"{each.table} (before: {each.label!r})" for each in before)
