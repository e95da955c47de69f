"""`tacit audit` and `tacit attack`: test the guarantee, and what data leaks.

`audit` tests statistically whether this build meets its privacy guarantee, and signs a report.
`tacit verify` checks such a report. `attack` runs known attacks on planned questions or on a
table, with exact data on the owner's side. `attack --gallery` runs them on synthetic people.
"""

import sys
import time
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tacit.cli import options
from tacit.cli.report_files import PRIVATE, check_targets, write_report
from tacit.errors import InvalidValue
from tacit.extras import later, load
from tacit.render import safe
from tacit.session import read_project, signing_key

BROKEN = 3
"""The exit code of an audit that found a violated guarantee."""


@click.command()
@click.argument("questions", nargs=-1)
@click.option(
    "--file", type=click.Path(path_type=Path), help="A file of more questions, each ended by ;"
)
@click.option(
    "--epsilon", default="1", show_default=True, help="Privacy loss of each question."
)
@click.option(
    "--delta", default="0", help="Delta, for groups whose keys are not public, as in `ask`."
)
@click.option(
    "--pairs",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Number of pairs of neighbouring datasets.",
)
@click.option(
    "--draws",
    type=click.IntRange(1),
    default=10**6,
    show_default=True,
    help="Number of draws of noise.",
)
@click.option(
    "--people",
    type=click.IntRange(0),
    default=10**5,
    show_default=True,
    help="Number of synthetic people in one run.",
)
@click.option("--out", type=click.Path(path_type=Path), help="The file for the signed report.")
@click.option(
    "--json",
    "json_",
    is_flag=True,
    help="Print the signed report as JSON, and write a file only with --out.",
)
@options.project
def audit(  # noqa: PLR0913 - one for each option
    *,
    questions: tuple[str, ...],
    file: Path | None,
    epsilon: str,
    delta: str,
    pairs: int,
    draws: int,
    people: int,
    out: Path | None,
    json_: bool,
    project: Path,
) -> None:
    """Test QUESTIONS in SQL, and this build, on synthetic people.

    None of your rows is read, and nothing is charged. The report is dated and signed with the
    project's key. Exit code 3 means that a guarantee was violated. --people 0 tests the
    questions only.
    """
    asked = (*questions, *_questions_in(file))
    if not asked and not people:
        raise InvalidValue(
            "There is nothing to audit. Name questions in SQL, or use --people 100000."
        )
    dated = time.strftime("tacit-audit-%Y-%m-%d-%H%M%S.json", time.gmtime())
    where = out or (None if json_ else Path(dated))
    check_targets([where], kept=[project, *([file] if file else [])])
    read_project(project)  # an invalid project is refused before a key file is created
    key = signing_key(project.parent)
    own = later("tacit.audit.project_audit").ProjectAudit(
        project, epsilon, delta, pairs=pairs, draws=draws, people=people
    )
    steps = len(asked) + bool(people)
    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    quiet = json_ or not sys.stdout.isatty()
    with Progress(*shown, TimeElapsedColumn(), transient=True, disable=quiet) as bar:
        parts = list(bar.track(own.parts(asked), total=steps, description="audit"))
    report = own.report(parts)
    text = later("tacit.audit.report").SignedReport.sign(report.to_dict(), key)
    if where is not None:
        write_report(where, text)
    if json_:
        click.echo(text, nl=False)
    else:
        for line in str(report).splitlines():
            click.echo(_colour_verdict(safe(line)))
        click.echo(f"Wrote {where}, signed by {key.public.hex()}.")
    if report.broken:
        raise SystemExit(BROKEN)


def _questions_in(file: Path | None) -> tuple[str, ...]:
    if file is None:
        return ()
    try:
        parts = file.read_text(encoding="utf-8").split(";")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{file} cannot be read as a text file. Check its name.") from error
    return tuple(part.strip() for part in parts if part.strip())


def _colour_verdict(line: str) -> str:
    """Return the line with a coloured verdict; click drops the colour without a terminal."""
    for word, colour in (("  kept:", "green"), ("  BROKEN:", "red")):
        if line.startswith(word):
            return click.style(word, fg=colour) + line.removeprefix(word)
    return line


# ------------------------------------------------------------------ attack

EXACT = "exact answers"
"""The system of findings on answers without noise."""

UNCHANGED = (
    "No answer changed when the named people were left out: these questions count none of "
    "their rows."
)


@click.command()
@click.argument("questions", nargs=-1)
@click.option(
    "--epsilon", default="1", show_default=True, help="Privacy loss of all answers together."
)
@click.option("--delta", default="1e-6", show_default=True, help="Delta of all answers.")
@click.option("--person", multiple=True, help="A person to attack. Default: a few people.")
@click.option(
    "--people",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Number of people to attack, without --person.",
)
@click.option("--table", help="A table whose rows might be published without names.")
@click.option("--facts", help="Columns of the table that an attacker knows, such as city,born.")
@click.option("--secret", help="The column of the table that nobody should learn.")
@click.option(
    "--gallery", is_flag=True, help="Attack synthetic people instead, without a project."
)
@click.option(
    "--story",
    multiple=True,
    help="A story of the gallery, such as only-counts. Default: all stories.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write the report as HTML.")
@click.option(
    "--json", "json_", type=click.Path(path_type=Path), help="Write the report as JSON."
)
@options.project
def attack(  # noqa: PLR0913 - one for each option
    *,
    questions: tuple[str, ...],
    epsilon: str,
    delta: str,
    person: tuple[str, ...],
    people: int,
    table: str | None,
    facts: str | None,
    secret: str | None,
    gallery: bool,
    story: tuple[str, ...],
    out: Path | None,
    json_: Path | None,
    project: Path,
) -> None:
    """Attack QUESTIONS in SQL, or a --table, before they are published.

    This runs on the owner's side, on exact data. Nothing is charged, because nothing is
    released. The output is not private: do not publish it.

    With --gallery, known attacks run on synthetic people, on exact answers and on answers of
    Tacit with epsilon 1. No project and no data is needed.
    """
    check_targets([out, json_], kept=[project])
    if gallery or story:
        _check_gallery(gallery=gallery, questions=questions)
        _write_report(_run_gallery(story), out, json_)
        return
    if not questions and table is None:
        raise InvalidValue(
            "There is nothing to attack. Name questions in SQL, use --table visits, or try "
            "--gallery, which needs no data."
        )
    known = _known_facts(table, facts, secret)
    _check_people(person, asked=bool(questions))
    report, suite = later("tacit.attacks.report"), later("tacit.attacks.suite")
    own = suite.AttackSuite(project, epsilon, delta)
    steps = len(questions) + (len(questions) > 1) + (table is not None)
    shown, parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()), []
    with Progress(*shown, TimeElapsedColumn(), transient=True) as bar:
        task = bar.add_task("attacks", total=steps)
        if table is not None:
            parts.append(own.attack_table(table, known, (secret or "").strip()))
            bar.advance(task)
        if questions:
            for part in own.attack_questions(questions, person, people):
                parts.append(part)
                bar.advance(task)
    asked = report.count_of(len(questions), "question") if questions else ""
    subject = ", ".join(filter(None, [table, asked]))
    exact = [each for part in parts for each in part.findings if each.system == EXACT]
    unchanged = person and not any(each.proved for each in exact)
    notes = report.next_steps([each for part in parts for each in part.findings])
    if unchanged:
        notes = (UNCHANGED, *notes)
    loss = f"ε = {epsilon}, δ = {delta}"
    made = report.AttackReport.of_now(subject, loss, parts, notes)
    click.echo(str(made))
    _write_report(made, out, json_)


def _known_facts(table: str | None, facts: str | None, secret: str | None) -> list[str]:
    """Return the columns in ``facts``. Refuse a table without facts, and facts without one."""
    if table is None:
        if facts is not None or secret is not None:
            raise InvalidValue(
                "--facts and --secret are columns of a table, but --table was not given. Add "
                "--table, or remove them to attack questions only."
            )
        return []
    known = [column.strip() for column in (facts or "").split(",")]
    if not all(known) or not (secret or "").strip():
        raise InvalidValue(
            "An attack on a table needs --facts, such as city,born, and --secret, such as "
            "diagnosis."
        )
    return known


def _check_people(person: tuple[str, ...], *, asked: bool) -> None:
    """Refuse --person and --people where they would be ignored."""
    counted = _is_given("people")
    if not asked and (person or counted):
        raise InvalidValue(
            "--person and --people choose whom questions are attacked for, but no question was "
            "given. Name questions in SQL, or remove these options."
        )
    if person and counted:
        raise InvalidValue(
            "--person names the people to attack, and --people is a number of other people. "
            "Use one of these options."
        )


def _is_given(name: str) -> bool:
    """Return whether an option stands on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def _write_report(made: Any, out: Path | None, json_: Path | None) -> None:
    """Write a report as HTML to ``out`` and as JSON to ``json_``, if they are given."""
    for file, text in ((out, made.html), (json_, made.to_json)):
        if file is not None:
            write_report(file, text(), PRIVATE)  # it may contain exact values
            click.echo(f"Wrote {file}.")


# ------------------------------------------------------------------ gallery

WITH_GALLERY = ("gallery", "story", "out", "json_")
WIDTHS = {"attack": 17, "on": 20, "right": 6, "a guess": 7, "allowed": 7, "verdict": 16}
"""Columns of the table of a story, which fits into 80 characters."""

STYLES = {"good": "green", "noted": "yellow", "unclear": "dim", "bad": "red"}
"""Colours of a terminal, by the tone of a verdict."""


def _check_gallery(*, gallery: bool, questions: tuple[str, ...]) -> None:
    """Refuse a story without the gallery, and options that the gallery would ignore."""
    if not gallery:
        raise InvalidValue(
            "--story chooses from the gallery, but --gallery was not given. Add --gallery."
        )
    context = click.get_current_context()
    ignored = ["questions"] if questions else []
    ignored += [
        f"--{name}"
        for name in context.params
        if name not in {*WITH_GALLERY, "questions"} and _is_given(name)
    ]
    if ignored:
        raise InvalidValue(
            f"--gallery attacks synthetic people with epsilon 1, and cannot be combined with "
            f"{' and '.join(ignored)}. Remove --gallery to attack your own data."
        )


def _run_gallery(names: tuple[str, ...]) -> Any:
    """Run stories of the gallery with a progress bar, print their report, and return it."""
    gallery = load("tacit.attacks.gallery", extra="attacks")
    stories, noise, parts = gallery.find_stories(names), gallery.GalleryNoise.live(), []
    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    quiet = not sys.stdout.isatty()
    with Progress(*shown, TimeElapsedColumn(), transient=True, disable=quiet) as bar:
        task = bar.add_task("attacks", total=len(stories))
        for story in stories:
            bar.update(task, description=story.name)
            parts.append(story.attack(noise))
            bar.advance(task)
    made = gallery.gallery_report(parts)
    if quiet:
        click.echo(str(made))
    else:
        _show_stories(made, Console())
    return made


def _show_stories(made: Any, console: Console) -> None:
    """Print a sentence and a table for each story, or lines if the terminal is narrow."""
    wide = console.width >= sum(WIDTHS.values()) + len(WIDTHS)
    console.print(Text(made.heading, style="bold"))
    console.print(Text(made.warning))
    for part in made.parts:
        console.print()
        console.print(Text.assemble((part.title, "bold"), f": {part.about}"))
        if wide:
            console.print(_table_of_story(part))
            continue
        for each in part.findings:  # a table would cut off its numbers
            console.print(Padding(Text(str(each), style=_tone(each)), (0, 0, 0, 2)))
    for note in made.notes:
        console.print()
        console.print(Text(note, style="dim"))


def _tone(finding: Any) -> str:
    return STYLES[finding.verdict.tone.value]


def _table_of_story(part: Any) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    for heading, width in WIDTHS.items():
        numeric = heading in {"right", "a guess", "allowed"}
        table.add_column(heading, width=width, justify="right" if numeric else "left")
    for each in part.findings:
        style = _tone(each)
        shares = (each.success.value, each.chance, each.allowed)
        right, guess, allowed = ("" if x is None else f"{100 * x:.3g}%" for x in shares)
        table.add_row(
            each.attack,
            each.system,
            Text(right, style=style),
            guess,
            allowed,
            Text(each.verdict.brief, style=style),
        )
    return table
