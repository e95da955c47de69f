"""The browser code of the console is built from a lock file without addresses."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "shipping" / "console"
LOCK = (BUILD / "package-lock.json").read_text()
FOLDERS = ["src/tacit/server/console/static", "tests/console/vendor"]


def origins(lock: str) -> list[str]:
    """The places that a lock file names as the origin of a package."""
    return re.findall(r'"resolved": "(.*?)"', lock)


def strangers(lock: str, folder: str) -> set[str]:
    """The packages in a folder's files that are others than the locked ones."""
    locked = json.loads(lock)["packages"]
    files = json.loads((ROOT / folder / "vendored.json").read_text())["files"]
    return {
        name
        for file in files.values()
        for name, package in file["npm"].items()
        if [package["version"], package["integrity"]]
        != [locked.get(f"node_modules/{name}", {}).get(key) for key in ("version", "integrity")]
    }


def test_the_lock_names_no_place() -> None:
    assert origins(LOCK) == []
    assert origins('"resolved": "https://mirror.test/vega.tgz",') != []


def test_every_package_is_pinned_to_one_version() -> None:
    wanted = json.loads((BUILD / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_vendored_is_what_is_locked(folder: str) -> None:
    assert strangers(LOCK, folder) == set()
    assert strangers(LOCK.replace('"version": "', '"version": "9'), folder)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_entry_points_are_there(folder: str) -> None:
    files = json.loads((ROOT / folder / "vendored.json").read_text())["files"]
    for file in files.values():
        assert "copied" in file or (ROOT / file["entry"]).is_file()
