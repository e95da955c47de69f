"""NOTICE names every package that Tacit asks for; `just notice` writes it anew."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOTICE = (ROOT / "NOTICE").read_text()


def unnamed(notice: str) -> list[str]:
    """The packages that are asked for, and for which no line tells a licence."""
    extras = PROJECT["optional-dependencies"].values()
    asked = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    names = {re.split(r"[\[<>=]", line)[0] for line in asked}
    told = re.findall(r"^- ([a-z0-9-]+): (?!not stated).", notice, flags=re.MULTILINE)
    return sorted(names - set(told))


def test_every_package_has_a_licence() -> None:
    assert unnamed(NOTICE) == [], "run `just notice`"


def test_a_package_without_a_licence_is_found() -> None:
    assert unnamed(NOTICE.replace("- numpy: ", "- nothing: ")) == ["numpy"]
    assert unnamed(re.sub("- duckdb: .*", "- duckdb: not stated", NOTICE)) == ["duckdb"]
