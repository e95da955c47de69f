"""CI's checks fail when a forbidden thing is planted, and for that reason.

Each plant runs only the recipe that must find it; that `.ci/run checks` runs all three recipes
is a test of its own.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FLOORS = "Imports only go down the floors BROKEN"
SECRETS = "Secrets are opened at the gateway, and where owners audit and attack it BROKEN"


@dataclass(frozen=True)
class Plant:
    """A line or more in a new module, the recipe that finds it, and what it must say."""

    path: str
    text: str
    reason: str
    recipe: str = "lint"


def use(name: str, imported: str) -> str:
    """An import that is used."""
    return f"{imported}\n\n__all__ = [{name!r}]".replace("'", '"')


FORCED = """
from tacit.core.secret import Secret


def force(secret: Secret[int]) -> object:
    \"""Force.\"""
    return secret._Secret__value
"""

HIDDEN = """
def hidden() -> str:
    \"""Hide.\"""
    from tacit.core.loss import Loss

    return str(Loss.pure(1))
"""

UNTYPED = """
def untyped(value):
    \"""Untype.\"""
    return value
"""

MISTYPED = """
def mistyped(value: int) -> str:
    \"""Mistype.\"""
    return value
"""

PLANTS: dict[str, Plant] = {
    "an upward import": Plant(
        "core/planted.py",
        use("LiveGateway", "from tacit.mechanisms.gateway import LiveGateway"),
        FLOORS,
        "floors",
    ),
    "an import between siblings": Plant(
        "noise/planted.py", use("Loss", "from tacit.core.loss import Loss"), FLOORS, "floors"
    ),
    "a floor that no contract knows": Plant("attic/__init__.py", "", FLOORS, "floors"),
    "import random": Plant("core/planted.py", use("random", "import random"), "TID251"),
    "numpy.random": Plant(
        "core/planted.py", "import numpy as np\n\nDRAW = np.random.default_rng", "TID251"
    ),
    "a relative import": Plant(
        "core/planted.py", use("Loss", "from .loss import Loss"), "TID252"
    ),
    "a hidden import": Plant("core/planted.py", HIDDEN, "PLC0415"),
    "a secret opened in the server": Plant(
        "server/planted.py",
        use("unseal", "from tacit.core.unseal import unseal"),
        SECRETS,
        "floors",
    ),
    "a secret opened in another attack": Plant(
        "attacks/planted.py",
        use("unseal", "from tacit.core.unseal import unseal"),
        SECRETS,
        "floors",
    ),
    "a secret forced open in the server": Plant("server/planted.py", FORCED, "SLF001"),
    "a library in the wrong place": Plant(
        "core/planted.py",
        use("sqlglot", "import sqlglot"),
        "sqlglot is for reading SQL",
        "floors",
    ),
    "an untyped function": Plant("core/planted.py", UNTYPED, "ANN001"),
    "a wrong type": Plant("core/planted.py", MISTYPED, "[return-value]", "types"),
    "code that is not formatted": Plant("core/planted.py", "ONE = 1+1", "would be reformatted"),
}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / name)
    if (ROOT / ".mypy_cache").is_dir():  # a warm start for the type checker
        shutil.copytree(ROOT / ".mypy_cache", tmp_path / ".mypy_cache")
    return tmp_path


def run(clone: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a copy of the sources, in the environment that is already there."""
    environment = os.environ | {
        "UV_PROJECT_ENVIRONMENT": str(ROOT / ".venv"),
        "UV_NO_SYNC": "1",
        "PYTHONPATH": str(clone / "src"),
        "COLUMNS": "200",
    }
    return subprocess.run(
        command,
        cwd=clone,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_planted_is_found(plant: str, clone: Path) -> None:
    planted = clone / "src" / "tacit" / PLANTS[plant].path
    planted.parent.mkdir(exist_ok=True)
    text = PLANTS[plant].text.strip()
    gap = "\n\n\n" if text.startswith("def") else "\n\n" if text else ""
    planted.write_text(f'"""Planted."""{gap}{text}\n')
    done = run(clone, "just", PLANTS[plant].recipe)
    assert done.returncode != 0
    assert PLANTS[plant].reason in done.stdout


def test_a_clean_copy_passes(clone: Path) -> None:
    done = run(clone, "bash", ".ci/run", "checks")
    assert done.returncode == 0, done.stdout
    said = done.stdout
    recipes = subprocess.run(
        ["just", "--dry-run", "lint", "types", "floors"],
        cwd=ROOT,
        check=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert [line for line in recipes.stderr.splitlines() if line not in said] == []


def test_a_check_that_fails_fails_the_stage(clone: Path) -> None:
    (clone / "src" / "tacit" / "core" / "planted.py").write_text(
        '"""Planted."""\n\nONE = 1+1\n'
    )
    assert run(clone, "bash", ".ci/run", "checks").returncode != 0
