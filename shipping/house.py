"""Measure the source tree, and print a bar for each rule about its shape (`just house`).

    uv run python shipping/house.py [--list] [--growing]

With ``--list``, the places that each figure counts are printed as well. With ``--growing``, as
in CI, the number of files is free. The figures:

* files: all Python files below ``src/tacit``, ``__init__.py`` included.
* median and longest file: lines of the files that are not faces. A face is an ``__init__.py``
  that defines no class and no function and only lists names, so its length says nothing.
* import lines: lines of import statements as a share of the lines of all files.
* class names used twice: names that two or more classes have, nested and private ones included.
* modules without an entry point: modules outside `tacit.lab` and `tacit.robust` that no user
  can reach. Entry points are the root package, the scripts and plugins of ``pyproject.toml``,
  each ``__main__.py``, and the faces that users import: `tacit.frame`, `tacit.ml`,
  `tacit.testing`. Modules are followed by import statements and by module names in strings,
  which is how `tacit.extras` loads the server, drivers and models. `tacit.attacks` and
  `tacit.audit` have no entry of their own: `tacit attack` and `tacit audit` must reach them.
  Migrations are left out, since Alembic finds them by their folder.
* import circles: groups of modules that import each other.
* upward imports: imports that the layers of ``.importlinter`` forbid, between siblings too.
* hidden imports: import statements inside functions, classes or conditions, and calls of
  ``import_module`` or ``__import__`` outside `tacit.extras`.
* annotated functions: functions with a type for each parameter and for the result.
* forbidden forms: hits of `plain_english` in the tree, ``docs``, ``examples`` and root pages.
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import plain_english
from bars import Bar, at_most, between, show
from prose import files_under
from source_tree import Floors, Function, Module, SourceTree

ROOT = Path(__file__).parents[1]

WITHOUT_ENTRY = ("lab", "robust")
"""Packages for research, which no entry point has to reach."""

PUBLIC_FACES = ("frame", "ml", "testing")
"""Packages that users import by name."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A bar, and the places that it counts."""

    bar: Bar
    places: tuple[str, ...] = ()


def figures(tree: SourceTree, floors: Floors, project: str, pages: list[Path]) -> list[Figure]:
    """Measure everything; ``project`` is the text of ``pyproject.toml``."""
    hits = plain_english_hits(tree, pages)
    return [
        *sizes(tree),
        _none("class names used twice", repeated_classes(tree)),
        _none(
            "modules without an entry point", without_entry(tree, entry_points(tree, project))
        ),
        _none("import circles", [", ".join(circle) for circle in tree.circles()]),
        _none("upward imports", upward_imports(tree, floors)),
        _none("hidden imports", hidden_imports(tree)),
        annotated_share(tree),
        _none("forbidden forms", hits),
    ]


def _none(name: str, places: list[str]) -> Figure:
    return Figure(at_most(name, len(places), 0), tuple(places))


# sizes ----------------------------------------------------------------------------------------


def sizes(tree: SourceTree) -> list[Figure]:
    """Measure the number of files, their lengths and the share of import lines."""
    modules = list(tree.modules.values())
    lengths = {module.name: module.lines for module in modules if not module.is_face}
    longest = sorted(lengths, key=lambda name: -lengths[name])[:10]
    share = sum(module.import_lines for module in modules) / sum(m.lines for m in modules)
    return [
        Figure(between("files", len(modules), 240, 300)),
        Figure(between("median lines of a file", median(lengths.values()), 110, 220)),
        Figure(
            at_most("longest file", max(lengths.values()), 600),
            tuple(f"{name}: {lengths[name]} lines" for name in longest),
        ),
        Figure(Bar("import lines", f"{share:.1%}", "below 6.5%", share < 0.065)),  # noqa: PLR2004
    ]


# names ----------------------------------------------------------------------------------------


def repeated_classes(tree: SourceTree) -> list[str]:
    """Return the class names that are defined more than once, each with its places."""
    places = defaultdict(list)
    for module in tree.modules.values():
        for node in module.classes():
            places[node.name].append(f"{module.name}:{node.lineno}")
    return [f"{name}: {', '.join(at)}" for name, at in sorted(places.items()) if len(at) > 1]


# imports --------------------------------------------------------------------------------------


def entry_points(tree: SourceTree, project: str) -> set[str]:
    """Return the modules at which users come in."""
    table = tomllib.loads(project)["project"]
    named = [*table.get("scripts", {}).values(), *table.get("gui-scripts", {}).values()]
    for group in table.get("entry-points", {}).values():
        named += group.values()
    faces = {f"{tree.package}.{name}" for name in PUBLIC_FACES}
    mains = {name for name in tree.modules if name.endswith(".__main__")}
    return {tree.package} | faces | mains | {each.partition(":")[0] for each in named}


def without_entry(tree: SourceTree, roots: set[str]) -> list[str]:
    """Return the modules that no entry point reaches; faces hold nothing, and are left out."""
    missing = set(tree.modules) - tree.reached_from(roots)
    return sorted(
        f"{name}: {tree.modules[name].lines} lines"
        for name in missing
        if not tree.modules[name].is_face
        and name.split(".")[1] not in WITHOUT_ENTRY
        and ".migrations" not in name
    )


def upward_imports(tree: SourceTree, floors: Floors) -> list[str]:
    """Return the imports that go up the floors, or sideways where siblings must not meet."""
    return [
        f"{name}:{each.line} imports {each.module}"
        for name, module in tree.modules.items()
        if name != tree.package
        for each in module.imports
        if tree.is_own(each.module)
        and not _goes_down(tree, floors, name, each.module, each.name)
    ]


def _goes_down(
    tree: SourceTree, floors: Floors, importer: str, imported: str, name: str | None
) -> bool:
    """Return whether the floors allow an import; the root package is above all of them."""
    whole = f"{imported}.{name}" if imported == tree.package and name else imported
    if whole == tree.package:
        return False
    return floors.allows(importer.split(".")[1], whole.split(".")[1])


def hidden_imports(tree: SourceTree) -> list[str]:
    """Return the imports that do not stand at the top of their file."""
    found = []
    for name, module in tree.modules.items():
        found += sorted({f"{name}:{each.line}" for each in module.imports if each.hidden})
        if name != f"{tree.package}.extras":
            found += [f"{name}:{node.lineno}" for node in _dynamic_imports(module)]
    return found


def _dynamic_imports(module: Module) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(module.syntax)
        if isinstance(node, ast.Call)
        and re.search(r"(^|\.)(import_module|__import__)$", ast.unparse(node.func))
    ]


# functions and prose --------------------------------------------------------------------------


def is_annotated(node: Function) -> bool:
    """Return whether each parameter, ``self`` and ``cls`` apart, and the result have a type."""
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [each for each in (arguments.vararg, arguments.kwarg) if each]
    asked = [each for each in named if each.arg not in {"self", "cls"}]
    return node.returns is not None and all(each.annotation for each in asked)


def annotated_share(tree: SourceTree) -> Figure:
    """Measure the share of functions with types."""
    functions = [(name, node) for name, m in tree.modules.items() for node in m.functions()]
    bare = [
        f"{name}:{node.lineno} {node.name}"
        for name, node in functions
        if not is_annotated(node)
    ]
    share = 1 - len(bare) / max(1, len(functions))
    shown = f"{len(functions) - len(bare)} of {len(functions)} ({share:.1%})"
    return Figure(Bar("annotated functions", shown, "100%", not bare), tuple(bare))


def plain_english_hits(tree: SourceTree, pages: list[Path]) -> list[str]:
    """Return the forbidden forms in the tree and in the pages."""
    files = [*(module.path for module in tree.modules.values()), *files_under(pages)]
    return [str(hit) for path in files for hit in plain_english.hits_in(path)]


def main(arguments: list[str]) -> int:
    """Print all bars; exit 1 where one is short."""
    tree = SourceTree.read(ROOT / "src" / "tacit")
    floors = Floors.read((ROOT / ".importlinter").read_text(encoding="utf-8"))
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pages = [ROOT / place for place in plain_english.EVERYTHING if place != "src"]
    measured = figures(tree, floors, project, pages)
    if "--growing" in arguments:  # features may add files
        measured = [figure for figure in measured if figure.bar.name != "files"]
    if "--list" in arguments:
        for figure in measured:
            for place in figure.places:
                print(f"{figure.bar.name}: {place}")
    return show([figure.bar for figure in measured])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
