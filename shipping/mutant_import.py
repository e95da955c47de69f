"""Import one module of a package with a change, in this process and in all that it starts.

The change is described by a small JSON file, so that processes started by a test (workers,
command lines) can read it: ``sitecustomize.py`` next to that file is loaded at the start of
each Python process, since its folder is put on ``PYTHONPATH``.
"""

import ast
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

from mutations import apply_change, with_fixed

SITE = """\
import sys
sys.path.append({shipping!r})
from mutant_import import install
install({change!r})
"""


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from a changed syntax tree, under the name and path of its file."""

    def __init__(self, name: str, path: str, change: dict[str, object]) -> None:
        super().__init__(name, path)
        self._change = change

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the loader's interface
        """Compile the changed module; the cached bytecode is that of the unchanged one."""
        return compile(
            change_of(Path(self.path).read_text("utf-8"), self._change), self.path, "exec"
        )


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module, and leaves all others to the usual finders."""

    def __init__(self, change: dict[str, object]) -> None:
        self._change = change

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the usual specification of the module, with a loader that changes it."""
        if fullname != self._change["module"]:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None or found.origin is None:
            return None
        found.loader = _Loader(fullname, found.origin, self._change)
        return found


def change_of(source: str, change: dict[str, object]) -> ast.Module:
    """Apply a described change to the text of a module."""
    if "fixed" in change:
        return with_fixed(source, str(change["fixed"]))
    return apply_change(source, int(str(change["at"])))


def install(change_file: str) -> None:
    """Have this process import the module with the change."""
    change = json.loads(Path(change_file).read_text("utf-8"))
    if change["module"] in sys.modules:
        message = f"{change['module']} is already imported, without its change."
        raise RuntimeError(message)
    sys.meta_path.insert(0, _Finder(change))


def prepare(folder: Path, change: dict[str, object]) -> str:
    """Write the description of a change, and the file that other processes load at start."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "change.json"
    file.write_text(json.dumps(change), "utf-8")
    site = SITE.format(shipping=str(Path(__file__).parent), change=str(file))
    (folder / "sitecustomize.py").write_text(site, "utf-8")
    known = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *([known] if known else [])])
    return str(file)
