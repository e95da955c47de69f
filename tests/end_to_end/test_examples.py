"""The examples run as they stand, say what they promise, and leave nothing behind."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from postgres_cluster import PostgresCluster

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = Path(sys.executable).parent
SAID = {
    "ask_without_knowing": ("loses epsilon 1.099", "ask 4269 people", "Meant yes: 0."),
    "budget_runs_out": ("at most 23.2% likely", "refused.", "Ask for less", "match the anchor"),
    "own_database": (
        "olga: patients: declare",
        "Cheaper:",
        "at least",
        "ann is refused: The quota",
    ),
    "price_before_you_spend": ("at most 27 visits off", "yet: ρ = 0\n", "costs ρ = 0."),
    "quantiles_to_pandas": (
        "half_high",
        "vega-lite",
        "By itself, this release about employees",
    ),
}


def run(script: Path, here: Path, *given: str) -> subprocess.CompletedProcess[str]:
    """One example in an empty folder, with warnings as errors."""
    command = [sys.executable, "-W", "error", str(script), *given]
    return subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)


def wrong(script: Path, here: Path, said: tuple[str, ...], *given: str) -> list[str]:
    """What an example did otherwise than it promises."""
    done = run(script, here, *given)
    found = [done.stderr] if done.returncode or done.stderr else []
    found += [phrase for phrase in said if phrase not in done.stdout]
    return found + [str(left) for left in here.iterdir()]


def test_every_example_is_listed_and_says_something() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == set(SAID)
    page = (EXAMPLES / "README.md").read_text()
    assert all(f"({path.name})" in page for path in EXAMPLES.iterdir() if path.suffix != ".md")


@pytest.mark.parametrize("name", [name for name in SAID if name != "own_database"])
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    assert wrong(EXAMPLES / f"{name}.py", tmp_path, SAID[name]) == []


def test_the_example_of_a_database_runs(open_folder: Path, tmp_path: Path) -> None:
    # a server of its own, because the example makes a role
    script, cluster = EXAMPLES / "own_database.py", PostgresCluster(open_folder)
    try:
        assert wrong(script, tmp_path, SAID[script.stem], cluster.database("clinic")) == []
    finally:
        cluster.stop("immediate")
    assert "python own_database.py postgresql://" in run(script, tmp_path).stderr


def test_an_example_that_fails_or_leaves_something_is_found(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for text, said in (("1 / 0", ()), ("print(1)", ("2",)), ("open('a', 'w').close()", ())):
        script = tmp_path / "lie.py"
        script.write_text(text)
        assert len(wrong(script, here, said)) == 1


def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = tmp_path / "five_lines.ipynb"
    shutil.copy(EXAMPLES / notebook.name, notebook)
    subprocess.run(
        [PROGRAMS / "jupyter-execute", "--inplace", notebook],
        check=True,
        capture_output=True,
        env=os.environ | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"},
    )
    cells = json.loads(notebook.read_text())["cells"]
    shown = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
    assert sum("text/html" in each for each in shown) == 4
    assert sum("application/vnd.vegalite.v5+json" in each for each in shown) == 1
    assert [each.name for each in tmp_path.iterdir()] == [notebook.name]


def test_a_notebook_that_fails_is_found(tmp_path: Path) -> None:
    notebook = tmp_path / "lie.ipynb"
    book = json.loads((EXAMPLES / "five_lines.ipynb").read_text())
    book["cells"] = [book["cells"][1] | {"source": "1 / 0"}]
    notebook.write_text(json.dumps(book))
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(
            [PROGRAMS / "jupyter-execute", notebook], check=True, capture_output=True
        )
