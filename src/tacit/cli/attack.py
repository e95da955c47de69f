"""`tacit attack`: what a table or planned questions would leak, raw and through Tacit."""

from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tacit.cli import options
from tacit.errors import InvalidValue
from tacit.extras import later


@click.command()
@click.argument("questions", nargs=-1)
@click.option("--epsilon", default="1", show_default=True, help="Of all answers together.")
@click.option("--delta", default="1e-6", show_default=True, help="Its delta.")
@click.option("--person", multiple=True, help="Whom to look for; a few, unless somebody is.")
@click.option("--people", type=click.IntRange(1), default=8, show_default=True)
@click.option("--table", help="A table whose rows, without names, might be published.")
@click.option("--facts", help="Its public columns, such as city,born.")
@click.option("--secret", help="Its column that nobody should learn.")
@click.option("--out", type=click.Path(path_type=Path), help="The report as one HTML file.")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="For machines.")
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
    out: Path | None,
    json_: Path | None,
    project: Path,
) -> None:
    """Attack QUESTIONS in SQL, or a --table, before anything of them is published.

    This runs on the owner's side, on exact data: nothing is charged, since nothing leaves, and
    nothing that it prints or writes is private.
    """
    if not questions and table is None:
        raise InvalidValue("Name what to attack: questions in SQL, or --table visits.")
    if table is not None and (not facts or not secret):
        raise InvalidValue("A table is attacked by --facts city,born and --secret diagnosis.")
    report, laboratory = later("tacit.attacks.report"), later("tacit.attacks.laboratory")
    own = laboratory.Laboratory(project, epsilon, delta)
    steps = len(questions) + (len(questions) > 1) + (table is not None)
    shown, parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()), []
    with Progress(*shown, TimeElapsedColumn(), transient=True) as bar:
        task = bar.add_task("attacks", total=steps)
        if table is not None:
            parts.append(own.attack_table(table, (facts or "").split(","), secret))
            bar.advance(task)
        if questions:
            for part in own.attack_questions(questions, person, people):
                parts.append(part)
                bar.advance(task)
    subject = ", ".join(
        filter(None, [table, f"{len(questions)} questions" if questions else ""])
    )
    absent = person and all(
        each.success.value == each.chance
        for part in parts
        for each in part.findings
        if each.system == "exact answers"
    )
    notes = ("No answer changed without the people named: look at the spelling.",)
    made = report.Report(
        subject, f"ε = {epsilon}, δ = {delta}", tuple(parts), notes if absent else ()
    )
    click.echo(str(made))
    for file, text in ((out, made.html), (json_, made.to_json)):
        if file is not None:
            write_private(file, text())
            click.echo(f"Wrote {file}.")


def write_private(file: Path, text: str) -> None:
    """Write ``text`` so that the owner of the file alone reads it: it holds exact values."""
    file.touch(mode=0o600)
    file.chmod(0o600)  # it may have been there before
    file.write_text(text, encoding="utf-8")
