"""The shape of the package: what a newcomer may rely on in every file."""

import ast
import tomllib
from configparser import ConfigParser
from importlib.metadata import version
from pathlib import Path

import pytest

import tacit

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "tacit").rglob("*.py"))

PACKAGES = {path.stem for path in (ROOT / "src" / "tacit").iterdir()}
"""Packages and modules below the root: importing one is not importing the root's names."""

CORE = {
    "numpy",
    "cryptography",
    "duckdb",
    "sqlglot",
    "sqlalchemy",
    "alembic",
    "click",
    "rich",
    "tomlkit",
}


def imports_the_root(source: str) -> bool:
    """Whether a module imports the package root, from where cycles come."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and any(name.name == "tacit" for name in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "tacit":
            return any(name.name not in PACKAGES for name in node.names)
    return False


def test_public_names_are_there() -> None:
    assert sorted(tacit.__all__) == tacit.__all__
    assert all(hasattr(tacit, name) for name in tacit.__all__)
    assert 10 <= len(tacit.__all__) <= 20


def test_nobody_inside_imports_the_root() -> None:
    assert [path for path in SOURCES if imports_the_root(path.read_text())] == []


def test_an_import_of_the_root_would_be_seen() -> None:
    assert imports_the_root("from tacit import Loss")
    assert imports_the_root("import tacit")
    assert not imports_the_root("from tacit import errors")
    assert not imports_the_root("from tacit.core.loss import Loss")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_says_what_it_holds_and_stays_readable(path: Path) -> None:
    source = path.read_text()
    assert ast.get_docstring(ast.parse(source))
    assert len(source.splitlines()) <= 600


def test_core_dependencies_are_those_of_the_design() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {requirement.split(">")[0] for requirement in project["dependencies"]}
    assert names == CORE
    assert project["version"] == version("tacit")


def test_packages_are_those_of_the_floors() -> None:
    packages = {path.name for path in (ROOT / "src" / "tacit").iterdir() if path.is_dir()}
    contract = ConfigParser()
    contract.read(ROOT / ".importlinter")
    layers = contract["importlinter:contract:floors"]["layers"].replace("|", " ").split()
    assert packages - {"__pycache__"} == set(layers) - {"errors", "extras"}
