"""The first minute: from an install of the built wheel to a first noisy table."""

import subprocess
import time
from pathlib import Path

from conftest import Bar
from new_environment import NewEnvironment

ROOT = Path(__file__).parents[1]
NAME = "first minute: from install of the built wheel (download apart) to a first noisy table"


def test_the_first_minute(tmp_path: Path, bar: Bar) -> None:
    wheels = tmp_path / "wheels"
    build = ["uv", "build", "--quiet", "--wheel", "--out-dir", wheels]
    subprocess.run(build, check=True, cwd=ROOT)
    wheel = next(wheels.glob("tacit-*.whl"))
    # pip of an environment that is not the timed one downloads what Tacit needs
    other = NewEnvironment(tmp_path / "other")
    other.run("pip", "download", "--quiet", "--dest", wheels, wheel, here=tmp_path)

    new = NewEnvironment(tmp_path / "new")
    start = time.perf_counter()
    new.install("--no-index", "--find-links", wheels, "tacit", here=tmp_path)
    installed = time.perf_counter()
    table = new.run("tacit", "demo", here=tmp_path)
    done = time.perf_counter()

    assert "Bern" in table
    bar("of which pip install, s", installed - start, "told", ok=True)
    bar(NAME, f"{done - start:.1f} s", "< 60", ok=done - start < 60)
