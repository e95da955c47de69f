"""`tacit audit` and `tacit verify`: does this build keep its word, for this project?"""

import sys
import time
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tacit.cli import options
from tacit.errors import InvalidValue
from tacit.extras import later
from tacit.render import safe
from tacit.session import read_project, signing_key

BROKEN = 3
"""The exit code of an audit that found a promise broken."""


@click.command()
@click.argument("questions", nargs=-1)
@click.option("--file", type=click.Path(path_type=Path), help="More questions, each ended by ;")
@click.option("--epsilon", default="1", show_default=True, help="What each question may lose.")
@click.option("--delta", default="0", help="For groups whose keys are not public, as in ask.")
@click.option(
    "--pairs", type=click.IntRange(1), default=100, show_default=True, help="Of neighbours."
)
@click.option(
    "--draws", type=click.IntRange(1), default=10**6, show_default=True, help="Of noise."
)
@click.option(
    "--people", type=click.IntRange(0), default=10**5, show_default=True, help="In one run."
)
@click.option("--out", type=click.Path(path_type=Path), help="Where the signed report goes.")
@click.option(
    "--json",
    "json_",
    is_flag=True,
    help="Print the signed report itself; a file is written where --out says.",
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
    """Put QUESTIONS in SQL, and this build, to the test over made-up people.

    No row of yours is read and nothing is charged. The report is dated and signed with the
    project's key. Exit code 3: a promise was broken. --people 0 leaves the build out.
    """
    asked = (*questions, *_questions_in(file))
    if not asked and not people:
        raise InvalidValue("Name what to audit: questions in SQL, or --people 100000.")
    dated = time.strftime("tacit-audit-%Y-%m-%d-%H%M%S.json", time.gmtime())
    where = out or (None if json_ else Path(dated))
    if where is not None and not where.parent.is_dir():
        raise InvalidValue(f"There is no folder {where.parent} for the report; make it first.")
    read_project(project)  # refused before a key is made beside it
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
        where.write_text(text, encoding="utf-8")
    if json_:
        click.echo(text, nl=False)
    else:
        for line in str(report).splitlines():
            click.echo(_coloured(safe(line)))
        click.echo(f"Wrote {where}, signed by {key.public.hex()}.")
    if report.broken:
        raise SystemExit(BROKEN)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", help="The key that it must be signed by, as its owner told you.")
def verify(*, file: Path, key: str | None) -> None:
    """Check a signed report offline: that no byte of FILE was changed, and who signed it."""
    try:
        text = file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{file} is no text file that can be read.") from error
    signed = later("tacit.audit.report").SignedReport.of(text)
    if key is not None and key.strip().lower() != signed.key:
        raise InvalidValue(
            f"{file} is signed by {signed.key}, and not by the key that you gave."
        )
    told = {
        name: safe(str(signed.report.get(name, ""))) for name in ("made", "tacit", "verdict")
    }
    click.echo(f"{file}: unchanged since {told['made']}, by Tacit {told['tacit']}.")
    click.echo(told["verdict"])
    whose = "the key that you gave" if key else "ask the owner whether that is theirs: --key"
    click.echo(f"Signed by {signed.key} ({whose}).")


def _questions_in(file: Path | None) -> tuple[str, ...]:
    if file is None:
        return ()
    try:
        parts = file.read_text(encoding="utf-8").split(";")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{file} is no text file that can be read.") from error
    return tuple(part.strip() for part in parts if part.strip())


def _coloured(line: str) -> str:
    """Verdicts in colour; where no terminal is, click leaves it out."""
    for word, colour in (("  kept:", "green"), ("  BROKEN:", "red")):
        if line.startswith(word):
            return click.style(word, fg=colour) + line.removeprefix(word)
    return line


# ------------------------------------------------------------------ attack
# `tacit attack`: what a table or planned questions would leak, raw and through Tacit.


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
    report, laboratory = later("tacit.attacks.report"), later("tacit.attacks.suite")
    own = laboratory.AttackSuite(project, epsilon, delta)
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
    made = report.AttackReport(
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
