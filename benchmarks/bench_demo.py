"""The first answer beside version 0.1.0's, in turns: the demo, and the README's notebook."""

import re
import subprocess
import time
from pathlib import Path
from statistics import median

import pytest
from conftest import Bar
from new_environment import NewEnvironment

ROOT = Path(__file__).parents[1]
BEFORE = "cc863dd"
"""The last commit of version 0.1.0."""

TURNS, MORE_SECONDS = 7, 1.0


def environment_of(source: Path, place: Path) -> NewEnvironment:
    """A new environment with Tacit as it is built from ``source``."""
    made = NewEnvironment(place)
    made.install(f"{source}[pandas]", here=place.parent)
    return made


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, NewEnvironment]:
    """Both versions, each in an environment of its own."""
    place = tmp_path_factory.mktemp("versions")
    old = place / "source"
    subprocess.run(["git", "clone", "--quiet", ROOT, old], check=True)
    subprocess.run(["git", "checkout", "--quiet", BEFORE], check=True, cwd=old)
    return {
        "0.1.0": environment_of(old, place / "old"),
        "now": environment_of(ROOT, place / "new"),
    }


def notebook() -> str:
    """The README's first block of Python, and the question that it asks."""
    text = (ROOT / "README.md").read_text()
    blocks: list[str] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return "".join(blocks[:2])


@pytest.mark.parametrize("what", ["tacit demo", "the README's first answer"])
def test_the_first_answer_takes_no_longer(
    what: str, environments: dict[str, NewEnvironment], tmp_path: Path, bar: Bar
) -> None:
    script = tmp_path / "notebook.py"
    script.write_text(notebook())
    command = ("tacit", "demo") if what == "tacit demo" else ("python", str(script))
    taken: dict[str, list[float]] = {name: [] for name in environments}
    for turn in range(TURNS):
        for name, environment in environments.items():
            here = tmp_path / f"{turn}-{name}"
            here.mkdir()
            began = time.perf_counter()
            environment.run(*command, here=here)
            taken[name].append(time.perf_counter() - began)
    # the first turn compiles what is loaded
    before, now = (median(taken[name][1:]) for name in ("0.1.0", "now"))
    shown = f"{now:.2f} s, 0.1.0 {before:.2f} s"
    bar(f"{what}, from cold", shown, "at most 1 s more", now <= before + MORE_SECONDS)
