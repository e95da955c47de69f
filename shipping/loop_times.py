"""Time the commands that a developer waits for, from cold and warm (`just loop-times`).

    uv run python shipping/loop_times.py

clones the committed sources into a temporary folder, so that no cache of a tool and no compiled
module is there, and installs the environment, which is not timed. Then it times `just quick`
and `just check` from cold, and `just check` once more. A run on busy cores shows larger
figures, so the load of the machine before each run is printed.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bars import Bar, show

ROOT = Path(__file__).parents[1]
LOOPS = (
    ("just quick, from cold", "quick", 60),
    ("just check, from cold", "check", 60),
    ("just check, warm", "check", 15),
)
"""The name of a bar, its recipe, and the seconds that it may take on two free cores."""


def seconds(folder: Path, recipe: str) -> float | None:
    """Return how long a recipe takes, or None if it fails."""
    print(f"{recipe}: load {os.getloadavg()[0]:.1f} before it", flush=True)
    environment = {name: text for name, text in os.environ.items() if name != "VIRTUAL_ENV"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.monotonic()
    done = subprocess.run(
        ["just", recipe], cwd=folder, env=environment, check=False, stdout=subprocess.DEVNULL
    )
    return time.monotonic() - began if done.returncode == 0 else None


def main() -> int:
    """Print a bar for each command; exit 1 where one is short."""
    bars = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        subprocess.run(["uv", "sync", "--locked", "--quiet"], cwd=folder, check=True)
        for name, recipe, most in LOOPS:
            taken = seconds(folder, recipe)
            shown = "failed" if taken is None else f"{taken:.0f} s"
            bars.append(Bar(name, shown, f"below {most} s", taken is not None and taken < most))
    return show(bars)


if __name__ == "__main__":
    sys.exit(main())
