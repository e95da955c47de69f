"""Read a package's source tree: its modules, what they import, and what they define.

The tree is read as syntax and never imported, so that a broken module can be measured too.

Imports are followed to the module that *defines* a name. Where a package's ``__init__.py`` only
re-exports names (a face), ``from tacit.plan import Plan`` counts as an import of the module in
which ``Plan`` is defined, and not of all that the face lists. Otherwise each face would reach
its whole package, and a module that nobody uses could never be found. For the same reason the
import of a package that Python implies (``tacit.plan`` for ``tacit.plan.kind``) is not counted.
"""

import ast
from collections.abc import Iterator
from configparser import ConfigParser
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef

LAZY = frozenset({"__getattr__", "__dir__"})
"""Functions by which a face loads names when they are first used."""


@dataclass(frozen=True)
class Import:
    """One name that a module imports: from where, under which name, and on which line."""

    module: str
    name: str | None
    line: int
    hidden: bool
    """Whether the statement stands inside a function, a class or a condition."""


@dataclass(frozen=True)
class Module:
    """A file of the tree with its syntax."""

    name: str
    path: Path
    text: str = field(repr=False)

    @cached_property
    def syntax(self) -> ast.Module:
        """The parsed file."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """The number of lines, blank lines and comments included."""
        return len(self.text.splitlines())

    @property
    def is_package(self) -> bool:
        """Whether the module is the ``__init__.py`` of a package."""
        return self.path.name == "__init__.py"

    @cached_property
    def is_face(self) -> bool:
        """Whether this ``__init__.py`` defines nothing of its own, and only lists names."""
        defined = [
            node
            for node in self.syntax.body
            if isinstance(node, Function | ast.ClassDef) and node.name not in LAZY
        ]
        return self.is_package and not defined

    @cached_property
    def imports(self) -> list[Import]:
        """All names that the module imports, in the order of its lines."""
        top = {id(node) for node in self.syntax.body}
        found = []
        for node in ast.walk(self.syntax):
            hidden = id(node) not in top
            if isinstance(node, ast.Import):
                found += [Import(each.name, None, node.lineno, hidden) for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                source = self._absolute(node)
                found += [Import(source, each.name, node.lineno, hidden) for each in node.names]
        return sorted(found, key=lambda each: each.line)

    def _absolute(self, node: ast.ImportFrom) -> str:
        """Return the absolute name of the module that a ``from`` statement names."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, *([node.module] if node.module else [])])

    @cached_property
    def import_lines(self) -> int:
        """The number of lines that import statements take."""
        statements = [
            node
            for node in ast.walk(self.syntax)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in statements)

    @cached_property
    def strings(self) -> set[str]:
        """All string constants but docstrings."""
        expressions = {
            id(node.value) for node in ast.walk(self.syntax) if isinstance(node, ast.Expr)
        }
        return {
            node.value
            for node in ast.walk(self.syntax)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in expressions
        }

    def functions(self) -> Iterator[Function]:
        """Yield every function and method, nested ones included."""
        return (node for node in ast.walk(self.syntax) if isinstance(node, Function))

    def classes(self) -> Iterator[ast.ClassDef]:
        """Yield every class, nested ones included."""
        return (node for node in ast.walk(self.syntax) if isinstance(node, ast.ClassDef))


@dataclass(frozen=True)
class SourceTree:
    """The modules of one package by their dotted names."""

    package: str
    modules: dict[str, Module]

    @classmethod
    def read(cls, folder: Path) -> "SourceTree":
        """Read the package whose ``__init__.py`` stands in ``folder``."""
        modules = {}
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            modules[name] = Module(name, path, path.read_text(encoding="utf-8"))
        return cls(folder.name, modules)

    def is_own(self, name: str) -> bool:
        """Return whether a module's name lies in this package."""
        return name == self.package or name.startswith(f"{self.package}.")

    @cached_property
    def graph(self) -> dict[str, set[str]]:
        """For each module, the modules of this package that its statements import."""
        return {
            name: {
                target
                for each in module.imports
                if (target := self.target(each)) is not None and target != name
            }
            for name, module in self.modules.items()
        }

    def target(self, wanted: Import) -> str | None:
        """Return the module that defines what is imported; None where it is not ours."""
        return self._defining(wanted.module, wanted.name, frozenset())

    def _defining(self, module: str, name: str | None, seen: frozenset[str]) -> str | None:
        if not self.is_own(module):
            return None
        if name is not None and f"{module}.{name}" in self.modules:
            return f"{module}.{name}"
        found = self.modules.get(module)
        if found is None or name is None or not found.is_face or module in seen:
            return module if found else None
        for each in found.imports:
            if each.name in {name, "*"}:
                return self._defining(each.module, each.name, seen | {module})
        return self._lazily_defined(found, name) or module

    def _lazily_defined(self, face: Module, name: str) -> str | None:
        """Look a name up in the tables (name: module) by which a face loads names later."""
        for node in ast.walk(face.syntax):
            if not isinstance(node, ast.Dict):
                continue
            for key, value in zip(node.keys, node.values, strict=True):
                if (
                    isinstance(key, ast.Constant)
                    and key.value == name
                    and isinstance(value, ast.Constant)
                    and value.value in self.modules
                ):
                    return str(value.value)
        return None

    def reached_from(self, roots: set[str]) -> set[str]:
        """Return all modules that the roots import or load by name, directly or not.

        A module is loaded by name where a string constant is exactly its dotted name: these are
        the arguments of `tacit.extras` and the tables that are handed to it. The strings of a
        face are left out, since `target` follows them name by name; those of a root count.
        """
        todo, reached = set(roots) & set(self.modules), set[str]()
        while todo:
            name = todo.pop()
            reached.add(name)
            module = self.modules[name]
            loaded = module.strings if name in roots or not module.is_face else set()
            todo |= (self.graph[name] | (loaded & set(self.modules))) - reached
        return reached

    def circles(self) -> list[list[str]]:
        """Return the groups of modules that import each other in a circle (Tarjan 1972)."""
        order: dict[str, int] = {}
        low: dict[str, int] = {}
        stack: list[str] = []
        groups = []

        def visit(name: str) -> None:
            order[name] = low[name] = len(order)
            stack.append(name)
            for target in sorted(self.graph[name]):
                if target not in order:
                    visit(target)
                    low[name] = min(low[name], low[target])
                elif target in stack:
                    low[name] = min(low[name], order[target])
            if low[name] == order[name]:
                group = stack[stack.index(name) :]
                del stack[stack.index(name) :]
                if len(group) > 1:
                    groups.append(sorted(group))

        for name in sorted(self.modules):
            if name not in order:
                visit(name)
        return groups


@dataclass(frozen=True, slots=True)
class Floors:
    """The layers of a package as ``.importlinter`` lists them, the highest first."""

    layers: tuple[frozenset[str], ...]
    free: frozenset[str]
    """Packages of layers whose members may import each other (separated by ``:``)."""

    @classmethod
    def read(cls, text: str) -> "Floors":
        """Read the first contract of type ``layers`` from the text of ``.importlinter``."""
        parser = ConfigParser()
        parser.read_string(text)
        listed = next(
            parser[section]["layers"]
            for section in parser.sections()
            if parser[section].get("type") == "layers"
        )
        layers, free = [], set()
        for line in listed.strip().splitlines():
            names = frozenset(part.strip(" ()") for part in line.replace(":", "|").split("|"))
            layers.append(names)
            if ":" in line:
                free |= names
        return cls(tuple(layers), frozenset(free))

    def height(self, package: str) -> int | None:
        """Return the number of the floor, from the ground; None where none is listed."""
        for number, names in enumerate(reversed(self.layers)):
            if package in names:
                return number
        return None

    def allows(self, importer: str, imported: str) -> bool:
        """Return whether one package may import another."""
        if importer == imported:
            return True
        above, below = self.height(importer), self.height(imported)
        if above is None or below is None:
            return False
        return above > below or (above == below and importer in self.free)
