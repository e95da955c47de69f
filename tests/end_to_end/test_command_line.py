"""The command line: a demo, questions, budgets and the ledger, as a person types them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import copy

import click
import pytest
from click.testing import CliRunner, Result
from conftest import Bar, given_seconds

from tacit.cli.main import main
from tacit.core.loss import Loss
from tacit.session.project import project_and_ledger

ROOT = Path(__file__).parents[2]
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def tacit(*words: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], input=typed)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a demo, and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "clinic"
    shown = tacit("demo", "--folder", folder, "--as", "olga")
    assert shown.exit_code == 0, shown.output
    (folder / "shown").write_text(shown.output)
    return folder


@pytest.fixture
def file(made: Path) -> Path:
    return made / "tacit.toml"


def test_a_demo_ends_with_a_first_answer_and_says_what_is_next(made: Path) -> None:
    shown = (made / "shown").read_text()
    for words in (
        "margin of error (95%)",
        "Bern",
        "Graz",
        "By itself, this release about patients",
        "Next, run",
    ):
        assert words in shown
    again = tacit("demo", "--folder", made, "--as", "olga")
    assert "This answer was paid for before." in again.output


def test_a_question_is_quoted_asked_and_free_again(file: Path) -> None:
    quoted = tacit("ask", COUNT, "--epsilon", "0.1", "--quote", "--project", file)
    assert quoted.output.startswith("column  margin of error (95%)")
    first = tacit("ask", COUNT, "--epsilon", "0.1", "--project", file)
    assert "This answer cost epsilon 0.1 (rho 0.00" in first.output
    again = tacit("ask", COUNT, "--epsilon", "0.1", "--project", file)
    assert again.output.splitlines()[:5] == first.output.splitlines()[:5]
    assert "This answer was paid for before." in again.output


def test_whoever_has_a_quota_is_told_how_many_questions_fit_into_it(file: Path) -> None:
    with project_and_ledger(file) as (_, home):
        home.ledger.set_quota("patients", "ann", Loss.zcdp("0.0025"), by="olga")

    def shown(*words: object) -> str:
        return tacit("ask", COUNT, "--rho", "0.001", *words, "--project", file).output

    assert "about 2 such questions fit" in shown("--quote", "--as", "ann")
    assert "such questions fit" in shown("--quote", "--as", "bob")
    assert "about 2 such questions fit" not in shown("--quote", "--as", "bob")
    assert "About 1 more question like this fits" in shown("--as", "ann")


def test_machines_are_told_in_json_and_csv(file: Path) -> None:
    told = json.loads(tacit("ask", COUNT, "--rho", "0.001", "--json", "--project", file).output)
    assert told["columns"]["ward"] == ["north", "south", "east", "west"]
    assert told["budget"]["cost"].startswith("ρ = ")
    written = tacit("ask", COUNT, "--rho", "0.001", "--csv", "--project", file).output
    assert written.splitlines()[0] == "ward,n,n_low,n_high"
    assert written.splitlines()[1].split(",")[1] == str(told["columns"]["n"][0])
    both = tacit("ask", COUNT, "--quote", "--json", "--project", file)
    assert both.exit_code == 1
    assert "Leave --json and --csv out" in both.output


def test_groups_that_nobody_declared_are_asked_with_a_delta(file: Path) -> None:
    text = "SELECT doctor, COUNT(*) AS n FROM visits GROUP BY doctor"
    refused = tacit("ask", text, "--epsilon", "0.5", "--project", file)
    assert refused.exit_code == 1
    assert "ask with a delta, such as 1e-10" in refused.output
    answer = tacit("ask", text, "--epsilon", "0.5", "--delta", "1e-10", "--project", file)
    assert "Dr A" in answer.output


def test_the_status_shows_rho_epsilon_and_how_many_more_fit(file: Path) -> None:
    shown = tacit("status", "--project", file).output
    assert "patients: spent epsilon " in shown
    assert "of at most epsilon 3, delta 0.000001 (rho 0" in shown
    assert "more like the " in shown
    assert "ledger ok" in shown


def test_a_ledger_is_verified_and_a_changed_one_is_seen(file: Path, tmp_path: Path) -> None:
    anchors = tmp_path / "anchors"
    assert "heads" in tacit("ledger", "anchor", anchors, "--project", file).output
    shown = tacit("ledger", "verify", "--anchors", anchors, "--project", file)
    assert "are consistent and match the anchor" in shown.output
    told = json.loads(anchors.read_text())
    told["heads"][0][2] = "00" * 32
    anchors.write_text(json.dumps(told) + "\n")
    broken = tacit("ledger", "verify", "--anchors", anchors, "--project", file)
    assert broken.exit_code == 1
    assert "not an anchor any more: it was changed" in broken.output
    del told["key"], told["signature"]  # as nobody signed it
    anchors.write_text(json.dumps(told, separators=(",", ":")) + "\n")
    broken = tacit("ledger", "verify", "--anchors", anchors, "--project", file)
    assert broken.exit_code == 1
    assert "differs from the entry that was anchored" in broken.output


def test_a_difference_is_shown_asked_about_and_recorded(file: Path) -> None:
    before = file.read_text()
    file.write_text(before.replace("max_rows = 11", "max_rows = 6", 1))
    try:
        stopped = tacit("ask", COUNT, "--rho", "0.001", "--project", file)
        assert stopped.exit_code == 1
        assert "Run `tacit apply` to record" in stopped.output
        assert "tacit apply" in tacit("status", "--project", file).output
        declined = tacit("apply", "--project", file, "--as", "olga", typed="n\n")
        assert "+ visits: at most 3 groups of 6 rows" in declined.output
        assert declined.exit_code == 1
        other = tacit("apply", "--project", file, "--as", "mallory", "--yes")
        assert "mallory does not own the budget" in other.output
        assert (
            "Recorded by olga"
            in tacit("apply", "--project", file, "--as", "olga", typed="y\n").output
        )
        assert "is up to date" in tacit("apply", "--project", file).output
    finally:
        file.write_text(before)
        tacit("apply", "--project", file, "--as", "olga", "--yes")


def test_a_second_owner_approves(tmp_path: Path, made: Path) -> None:
    text = (made / "tacit.toml").read_text().replace('["olga"]', '["olga", "omar"]')
    file = tmp_path / "tacit.toml"
    file.write_text(text)
    copy(made / "clinic.duckdb", tmp_path)
    assert tacit("apply", "--project", file, "--as", "olga", "--yes").exit_code == 0
    file.write_text(text.replace("epsilon = 3", "epsilon = 4"))
    unreasoned = tacit("apply", "--project", file, "--as", "olga", "--yes")
    assert unreasoned.exit_code == 1
    assert "tacit apply --reason" in unreasoned.output
    why = ("--reason", "a second study", "--yes")
    proposed = tacit("apply", "--project", file, "--as", "olga", *why).output
    waiting = tacit("apply", "--project", file, "--as", "olga").output
    for said in (proposed, waiting):
        assert "proposal 3 waits for a second owner" in said
        assert "Proposed by olga; not yet in effect. Another owner runs: tacit ledger " in said
        assert "approve patients 3\n" in said
    assert "Recorded by" not in proposed
    assert (
        "proposal 3 of olga waits for a second owner until 2"
        in tacit("status", "--project", file).output
    )
    alone = tacit("ledger", "approve", "patients", 3, "--project", file, "--as", "olga")
    assert "approved by another owner" in alone.output
    done = tacit("ledger", "approve", "patients", 3, "--project", file, "--as", "omar")
    assert "omar approved proposal 3" in done.output
    assert "waits" not in tacit("status", "--project", file).output

    file.write_text(text.replace("epsilon = 3", "epsilon = 5"))
    asked = tacit("apply", "--project", file, "--as", "olga", typed="a third study\ny\n")
    assert "Why is the cap raised?" in asked.output
    assert "proposal 5 waits for a second owner" in asked.output
    said = tacit("ledger", "withdraw", "patients", 5, "--project", file, "--as", "omar")
    assert "omar withdrew proposal 5 of patients" in said.output
    shown = tacit("ledger", "show", "patients", "--kind", "proposal", "--project", file).output
    assert shown.splitlines()[-1].endswith("withdrawn by omar")
    assert "raise the cap from epsilon 4, delta 0.000001 (rho " in shown
    assert ") to epsilon 5, delta 0.000001 (rho " in shown
    lowered = text.replace("epsilon = 3", "epsilon = 1")
    file.write_text(lowered)
    assert (
        "Recorded by omar" in tacit("apply", "--project", file, "--as", "omar", "--yes").output
    )


def test_without_a_project_the_next_step_is_told(tmp_path: Path) -> None:
    refused = tacit("ask", COUNT, "--epsilon", "1", "--project", tmp_path / "tacit.toml")
    assert refused.exit_code == 1
    assert "tacit demo" in refused.output


def test_every_command_and_option_is_on_the_page() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    for name, command in walked(main, "tacit"):
        assert f"`{name}" in page, name
        for option in command.params:
            if isinstance(option, click.Option):
                assert f"`{max(option.opts, key=len)}`" in page, (name, option.opts)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_and_options(shell: str) -> None:
    told = {"_TACIT_COMPLETE": f"{shell}_source", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "tacit.cli"]
    script = subprocess.run(command, env=told, check=True, capture_output=True, text=True)
    assert f"_TACIT_COMPLETE={shell}_complete" in script.stdout


def walked(group: click.Group, path: str) -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for name, command in group.commands.items():
        inner = f"{path} {name}"
        found += (
            walked(command, inner) if isinstance(command, click.Group) else [(inner, command)]
        )
    return found


UNWANTED = (
    "alembic",
    "sklearn",
    "pyspark",
    "fastapi",
    "pyarrow",
    "pandas",
    "polars",
    "httpx",
    "keyring",
)


def test_asking_loads_nothing_that_it_does_not_need(made: Path) -> None:
    words = ["ask", COUNT, "--rho", "0.001", "--project", str(made / "tacit.toml")]
    loaded = (
        "import sys; from tacit.cli.main import main; "
        f"main({words!r}, standalone_mode=False); "
        f"print([name for name in {UNWANTED!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", loaded], check=True, capture_output=True, text=True
    )
    assert done.stdout.endswith("[]\n")


def test_a_first_answer_within_a_minute(tmp_path: Path, bar: Bar) -> None:
    start = given_seconds()
    command = [sys.executable, "-m", "tacit.cli", "demo", "--folder", str(tmp_path / "demo")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = given_seconds() - start
    assert "About 26 more questions like this fit." in done.stdout
    bar("first answer of a demo, seconds", seconds, "at most 60", seconds <= 60)
