"""Each figure of `just house`, on small trees: one that is fine, and one that is not."""

from collections.abc import Callable
from pathlib import Path

import house
import pytest
from source_tree import Floors, SourceTree

FLOORS = Floors.read(
    "[importlinter]\nroot_package = tacit\n"
    "[importlinter:contract:floors]\ntype = layers\n"
    "layers =\n    cli\n    plan | sql\n    core\n"
)
PROJECT = '[project]\nname = "tacit"\n[project.scripts]\ntacit = "tacit.cli.start:start"\n'


Build = Callable[[dict[str, str]], SourceTree]


@pytest.fixture
def tree(tmp_path: Path) -> Build:
    """Write files below a package `tacit`, which keeps those of earlier calls."""

    def build(files: dict[str, str]) -> SourceTree:
        for name, text in files.items():
            path = tmp_path / "tacit" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            for folder in {tmp_path / "tacit", path.parent}:
                (folder / "__init__.py").touch()
        return SourceTree.read(tmp_path / "tacit")

    return build


def test_a_class_name_that_is_used_twice_is_found(tree: Build) -> None:
    once = tree({"core/a": "class Rows: ...", "core/b": "class Row: ..."})
    assert house.repeated_classes(once) == []
    twice = tree({"core/b": "class Rows: ..."})
    assert house.repeated_classes(twice) == ["Rows: tacit.core.a:1, tacit.core.b:1"]


def test_a_module_that_no_user_reaches_is_found(tree: Build) -> None:
    found = tree(
        {
            "cli/start": "from tacit.plan import kind_of\nfrom tacit.extras import load\n"
            "load('tacit.core.late')",
            "extras": "def load(name): ...",
            "plan/kind": "def kind_of(): ...",
            "plan/unused": "def nothing(): ...",
            "core/late": "X = 1",
            "lab/unused": "X = 1",
        }
    )
    face = found.modules["tacit.plan"].path
    face.write_text(
        "from tacit.plan.kind import kind_of\nfrom tacit.plan.unused import nothing\n"
    )
    found = SourceTree.read(face.parents[1])
    missing = house.without_entry(found, house.entry_points(found, PROJECT))
    assert missing == ["tacit.plan.unused: 1 lines"]


def test_a_face_that_loads_names_later_is_followed_by_name(tree: Build) -> None:
    tree(
        {
            "cli/start": "from tacit.plan import Kind",
            "plan/kind": "Kind = 1",
            "plan/other": "X = 1",
        }
    )
    found = tree(
        {
            "plan/__init__": "NAMES = {'Kind': 'tacit.plan.kind', 'X': 'tacit.plan.other'}\n"
            "def __getattr__(name): ...",
        }
    )
    assert found.graph["tacit.cli.start"] == {"tacit.plan.kind"}
    missing = house.without_entry(found, house.entry_points(found, PROJECT))
    assert missing == ["tacit.plan.other: 1 lines"]


def test_an_import_circle_is_found(tree: Build) -> None:
    straight = tree(
        {"core/a": "import tacit.core.b", "core/b": "import tacit.core.c", "core/c": ""}
    )
    assert straight.circles() == []
    circle = tree({"core/c": "from tacit.core.a import X"})
    assert circle.circles() == [["tacit.core.a", "tacit.core.b", "tacit.core.c"]]


@pytest.mark.parametrize(
    ("module", "text", "found"),
    [
        ("plan/a", "from tacit.core.b import X", 0),
        ("plan/a", "from tacit import core", 0),
        ("core/a", "from tacit.plan.b import X", 1),
        ("core/a", "from tacit import plan", 1),
        ("plan/a", "from tacit.sql.b import X", 1),
        ("plan/a", "from tacit import Loss", 1),
        ("lobby/a", "from tacit.core.b import X", 1),
    ],
)
def test_an_import_that_does_not_go_down_is_found(
    tree: Build, module: str, text: str, found: int
) -> None:
    assert len(house.upward_imports(tree({module: text}), FLOORS)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import os", 0),
        ("def f():\n    import os", 1),
        ("try:\n    import os\nexcept ImportError: ...", 1),
        ("import importlib\nimportlib.import_module('os')", 1),
        ("__import__('os')", 1),
    ],
)
def test_a_hidden_import_is_found(tree: Build, text: str, found: int) -> None:
    assert len(house.hidden_imports(tree({"core/a": text}))) == found


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("def f(a: int, *, b: str) -> None: ...", 0),
        ("class A:\n    def f(self, a: int) -> None: ...", 0),
        ("def f(a, b: int) -> None: ...", 1),
        ("def f(a: int): ...", 1),
        ("def f(*args) -> None: ...", 1),
    ],
)
def test_a_function_without_types_is_found(tree: Build, text: str, wrong: int) -> None:
    assert len(house.annotated_share(tree({"core/a": text})).places) == wrong


def test_sizes_leave_out_faces_and_count_whole_import_statements(tree: Build) -> None:
    found = tree(
        {
            "core/a": "from os import (\n    path,\n    sep,\n)\n" + "X = 1\n" * 6,
            "core/__init__": "from tacit.core.a import X\n" * 30,
        }
    )
    bars = {figure.bar.name: figure.bar for figure in house.sizes(found)}
    assert bars["files"].measured == "3"
    assert bars["longest file"].measured == "10"
    assert bars["import lines"].measured == "85.0%"
    assert not bars["import lines"].ok
    assert str(bars["files"]) == "bar files: 3 (wanted 240 to 300) short"


def test_a_long_file_is_short_of_the_bar(tree: Build) -> None:
    lengths = {
        figure.bar.name: figure.bar for figure in house.sizes(tree({"core/a": "X = 1\n" * 600}))
    }
    assert lengths["longest file"].ok
    lengths = {
        figure.bar.name: figure.bar for figure in house.sizes(tree({"core/a": "X = 1\n" * 601}))
    }
    assert not lengths["longest file"].ok


def test_the_floors_of_this_repository_are_read() -> None:
    floors = Floors.read((house.ROOT / ".importlinter").read_text())
    assert floors.allows("cli", "core")
    assert not floors.allows("core", "cli")
    assert not floors.allows("core", "noise")
    packages = {path.parent.name for path in (house.ROOT / "src/tacit").glob("*/__init__.py")}
    assert {name for name in packages if floors.height(name) is None} == set()
