import re
import tomllib
from pathlib import Path

import pytest

from tacit.errors import InvalidValue, MissingExtra
from tacit.extras import EXTRAS, is_installed, load

ROOT = Path(__file__).parents[2]


def test_the_extras_are_those_that_pip_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert EXTRAS.keys() == project["optional-dependencies"].keys()


def test_an_extra_that_is_there_is_loaded() -> None:
    assert is_installed("testing")
    loaded = load("tacit.testing.entropy", extra="testing")
    assert loaded.__name__ == "tacit.testing.entropy"


def test_an_extra_that_is_not_there_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(EXTRAS, "spark", "a_library_that_nobody_installs")
    assert not is_installed("spark")
    command = re.escape(
        'tacit.engines.spark needs an optional dependency. Run: pip install "tacit[spark]" '
        '(in a copy of the repository: pip install ".[spark]")'
    )
    with pytest.raises(MissingExtra, match=command):
        load("tacit.engines.spark", extra="spark")


def test_an_unknown_extra_lists_the_known_ones() -> None:
    known = f"'sparks' is not an extra of Tacit. The extras are: {', '.join(EXTRAS)}"
    with pytest.raises(InvalidValue, match=known):
        is_installed("sparks")
    with pytest.raises(InvalidValue, match=known):
        load("tacit.engines.spark", extra="sparks")
