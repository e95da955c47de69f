"""CI's checks fail when a forbidden thing is planted, and for that reason."""

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
    """A line or more in a new module, and what the checks must say of it."""

    path: str
    text: str
    reason: str


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
    ),
    "an import between siblings": Plant(
        "noise/planted.py", use("Loss", "from tacit.core.loss import Loss"), FLOORS
    ),
    "a floor that no contract knows": Plant("attic/__init__.py", "", FLOORS),
    "import random": Plant("core/planted.py", use("random", "import random"), "TID251"),
    "numpy.random": Plant(
        "core/planted.py", "import numpy as np\n\nDRAW = np.random.default_rng", "TID251"
    ),
    "a relative import": Plant(
        "core/planted.py", use("Loss", "from .loss import Loss"), "TID252"
    ),
    "a hidden import": Plant("core/planted.py", HIDDEN, "PLC0415"),
    "a secret opened in the server": Plant(
        "server/planted.py", use("unseal", "from tacit.core.unseal import unseal"), SECRETS
    ),
    "a secret opened in another attack": Plant(
        "attacks/planted.py", use("unseal", "from tacit.core.unseal import unseal"), SECRETS
    ),
    "a secret forced open in the server": Plant("server/planted.py", FORCED, "SLF001"),
    "a library in the wrong place": Plant(
        "core/planted.py", use("sqlglot", "import sqlglot"), "sqlglot is for reading SQL"
    ),
    "an untyped function": Plant("core/planted.py", UNTYPED, "ANN001"),
    "a wrong type": Plant("core/planted.py", MISTYPED, "[return-value]"),
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


def checks(clone: Path) -> subprocess.CompletedProcess[str]:
    """The checks of CI on a copy of the sources, in the environment that is already there."""
    environment = os.environ | {
        "UV_PROJECT_ENVIRONMENT": str(ROOT / ".venv"),
        "UV_NO_SYNC": "1",
        "PYTHONPATH": str(clone / "src"),
        "COLUMNS": "200",
    }
    return subprocess.run(
        ["bash", ".ci/run", "checks"],
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
    done = checks(clone)
    assert done.returncode != 0
    assert PLANTS[plant].reason in done.stdout


def test_a_clean_copy_passes(clone: Path) -> None:
    done = checks(clone)
    assert done.returncode == 0, done.stdout
