"""`tacit audit` and `tacit verify`: does this build keep its word, for this project?"""

import sys
import time
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tacit.cli import options
from tacit.errors import InvalidValue
from tacit.extras import later
from tacit.render.cell import safe
from tacit.session.home import signing_key
from tacit.session.project_file import read_project

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
    own = later("tacit.audit.project").ProjectAudit(
        project, epsilon, delta, pairs=pairs, draws=draws, people=people
    )
    steps = len(asked) + bool(people)
    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    quiet = json_ or not sys.stdout.isatty()
    with Progress(*shown, TimeElapsedColumn(), transient=True, disable=quiet) as bar:
        parts = list(bar.track(own.parts(asked), total=steps, description="audit"))
    report = own.report(parts)
    text = later("tacit.audit.signed").SignedReport.sign(report.to_dict(), key)
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
    signed = later("tacit.audit.signed").SignedReport.of(text)
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
