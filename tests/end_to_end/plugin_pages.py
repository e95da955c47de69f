"""The toys of the pages about plug-ins: made from the pages alone, and installed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import invalidate_caches
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {
    "tacit-toy-engine": ROOT / "docs/how-to/plug-in-an-engine.md",
    "tacit-toy-mechanism": ROOT / "docs/how-to/plug-in-a-mechanism.md",
    "tacit-toy-estimator": ROOT / "docs/how-to/plug-in-an-estimator.md",
}
MOST_FILES = {"tacit-toy-engine": 2, "tacit-toy-mechanism": 4, "tacit-toy-estimator": 2}
FILE = re.compile(r"^`([\w./-]+)`:\n\n(`{3,})\w*\n(.*?)^\2$", flags=re.DOTALL | re.MULTILINE)
"""A file of a plug-in on its page: its name, and its text in a block."""


def files_of(name: str) -> dict[str, str]:
    """Return the files that a page says a plug-in has."""
    found = FILE.findall(PAGES[name].read_text(encoding="utf-8"))
    return {path: text for path, _, text in found}


def write(name: str, folder: Path, change: tuple[str, str] = ("", "")) -> Path:
    """Write the files of a page, with one text in place of another."""
    for path, text in files_of(name).items():
        file = folder / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace(*change) if change[0] else text, encoding="utf-8")
    return folder / name


@contextmanager
def installed(source: Path, site: Path) -> Iterator[None]:
    """Install a plug-in into a folder of its own, which is searched for as long as this is."""
    uv = os.environ.get("UV") or shutil.which("uv")
    assert uv, "uv installs the toys"
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--no-index", "--offline"]
    known = set(sys.modules)
    subprocess.run([*command, "--target", site, source], check=True)
    sys.path.insert(0, str(site))
    invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(site))
        for module in set(sys.modules) - known:
            if module.startswith("tacit_toy"):
                del sys.modules[module]
