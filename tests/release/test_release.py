"""What `just release` made: only what belongs into it, all of it, and it runs."""

import json
import os
import re
import shlex
import subprocess
import tarfile
import tomllib
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest
from new_environment import NewEnvironment

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = PROJECT["version"]
INFO = f"tacit-{VERSION}.dist-info"
LOCKED = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
FACTS = (
    "METADATA",
    "WHEEL",
    "RECORD",
    "entry_points.txt",
    "licenses/LICENSE",
    "licenses/NOTICE",
)
SOURCES = {
    str(path.relative_to(ROOT / "src"))
    for path in (ROOT / "src").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
}
PURE = {f"{INFO}/{fact}" for fact in FACTS} | SOURCES


def made(name: str) -> Path:
    """One of the files of a release."""
    if not (DIST / name).exists():
        pytest.fail(f"there is no dist/{name}: run `just release`", pytrace=False)
    return DIST / name


def astray(names: list[str]) -> set[str]:
    """The files of a wheel that do not belong there, and those that are missing."""
    return set(names) ^ PURE


def test_the_wheel_holds_the_package_and_nothing_else() -> None:
    names = ZipFile(made(f"tacit-{VERSION}-py3-none-any.whl")).namelist()
    assert "tacit/py.typed" in PURE
    assert astray(names) == set()


def test_a_file_too_many_or_too_few_is_found() -> None:
    lost = PURE - {"tacit/py.typed", f"{INFO}/licenses/LICENSE"}
    assert len(astray([*lost, "tests/unit/test_errors.py", "tacit/.env"])) == 4


def test_the_wheel_says_what_it_is() -> None:
    wheel = ZipFile(made(f"tacit-{VERSION}-py3-none-any.whl"))
    told = message_from_string(wheel.read(f"{INFO}/METADATA").decode())
    assert (told["Name"], told["Version"]) == ("tacit", VERSION)
    assert told["License-Expression"] == "Apache-2.0"
    assert set(told.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    needed = [line for line in told.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert len(needed) == len(PROJECT["dependencies"])


def test_the_sdist_can_be_tested() -> None:
    with tarfile.open(made(f"tacit-{VERSION}.tar.gz")) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    for name in ("pyproject.toml", "LICENSE", "NOTICE", "conftest.py", "examples/README.md"):
        assert name in inside
    assert {f"src/{name}" for name in SOURCES} <= inside
    own = {"src", "tests", "docs", "examples"}
    assert {name.partition("/")[0] for name in inside if "/" in name} == own
    assert not any("__pycache__" in name for name in inside)


def test_the_same_source_gives_the_same_bytes(tmp_path: Path) -> None:
    told = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], check=True, capture_output=True, cwd=ROOT
    )
    when = {"SOURCE_DATE_EPOCH": told.stdout.decode().strip()}
    command = ["uv", "build", "--quiet", "--out-dir", tmp_path]
    subprocess.run(command, check=True, cwd=ROOT, env=os.environ | when)
    for path in tmp_path.glob("tacit-*"):
        assert path.read_bytes() == made(path.name).read_bytes()


def test_the_sbom_names_what_is_installed_beside_it() -> None:
    bill = json.loads(made("tacit.cdx.json").read_text())
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "tacit")
    versions = {(package["name"], package["version"]) for package in LOCKED}
    parts = {(part["name"], part["version"]) for part in bill["components"]}
    assert parts <= versions
    names = {name for name, _ in parts}
    assert {"numpy", "duckdb", "psycopg", "fastapi"} <= names
    assert names.isdisjoint({"pytest", "ruff", "zensical"})
    for part in bill["components"]:
        assert part["purl"].startswith("pkg:pypi/")
        sources = part["externalReferences"]
        assert all(source["hashes"][0]["alg"] == "SHA-256" for source in sources)


def test_the_notice_is_the_one_that_was_committed() -> None:
    told = subprocess.run(
        ["git", "show", "HEAD:NOTICE"], check=True, capture_output=True, cwd=ROOT
    )
    assert made("NOTICE").read_bytes() == told.stdout


def test_the_wheel_answers_in_a_new_environment(tmp_path: Path) -> None:
    new = NewEnvironment(tmp_path / "new")
    new.install(made(f"tacit-{VERSION}-py3-none-any.whl"), here=tmp_path)
    assert VERSION in new.run("tacit", "--version", here=tmp_path)
    first = new.run("tacit", "demo", here=tmp_path)
    assert "By itself, this release about patients" in first
    ask = ("ask", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--epsilon", "0.5")
    answer = json.loads(new.run("tacit", *ask, "--json", here=tmp_path / "tacit-demo"))
    assert answer["columns"]["ward"] == ["north", "south", "east", "west"]
    for low, high in zip(answer["columns"]["n_low"], answer["columns"]["n_high"], strict=True):
        assert low < high
    said = "import tacit, sys; print(sorted({'pandas', 'pyarrow'} & set(sys.modules)))"
    assert new.run("python", "-c", said, here=tmp_path) == "[]\n"


def test_the_commands_of_the_readme_run_in_a_new_environment(tmp_path: Path) -> None:
    new, typed = NewEnvironment(tmp_path / "new"), []
    page = (ROOT / "README.md").read_text()
    for block in re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL):
        for line in block.replace("\n$ ", " && ").removeprefix("$ ").strip().split(" && "):
            program, *words = shlex.split(line, comments=True)
            typed.append(program)
            if program not in ("git", "cd"):  # the repository is here
                here = ROOT if program == "pip" else tmp_path
                new.run(program, *words, here=here)
    assert typed == ["git", "cd", "pip", "tacit"]
    said = "import pandas, tacit; print(tacit.open.__name__)"
    assert new.run("python", "-c", said, here=tmp_path) == "open_session\n"
