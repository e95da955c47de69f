"""Every public name has an entry, every page a place, and every link an end."""

import re
from pathlib import Path

import tacit

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
NAV = (ROOT / "mkdocs.yml").read_text()
NAMES = (DOCS / "reference/python.md").read_text()
PACKAGES = {
    path.parent.name
    for path in (ROOT / "src" / "tacit").glob("*/*.py")
    if path.name != "__init__.py"
} - {"cli"}  # a page of commands, which another test holds to the commands

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", flags=re.DOTALL)


def without_an_entry(names: list[str], page: str) -> list[str]:
    """The names of the package root that a page does not tell about."""
    told = set(re.findall(r"^::: tacit\.(\w+)$", page, flags=re.MULTILINE))
    return [name for name in names if name not in told]


def out_of_place(pages: list[str], nav: str) -> list[str]:
    """Pages that stand in the navigation never, or more than once."""
    listed = re.findall(r"(?:- |: )(\S+\.md)$", nav, flags=re.MULTILINE)
    return [page for page in [*pages, *listed] if [listed.count(page), page in pages] != [1, 1]]


def broken_links(file: Path, text: str) -> list[str]:
    """The links of a page to files that are not there."""
    targets = LINK.findall(CODE.sub("", text))
    local = [target for target in targets if "://" not in target]
    return [target for target in local if not (file.parent / target).is_file()]


def test_every_public_name_has_an_entry() -> None:
    assert without_an_entry(tacit.__all__, NAMES) == []


def test_a_name_that_was_left_out_is_found() -> None:
    assert without_an_entry(tacit.__all__, NAMES.replace("::: tacit.Loss\n", "")) == ["Loss"]
    assert without_an_entry([*tacit.__all__, "connect_all"], NAMES) == ["connect_all"]


def test_every_package_has_a_page() -> None:
    for name in PACKAGES:
        page = DOCS / f"reference/packages/{name}.md"
        assert page.exists(), f"write {page.relative_to(ROOT)}, as the others beside it are"
        assert page.read_text().startswith(f"::: tacit.{name}\n")


def test_every_page_has_one_place() -> None:
    wrong = out_of_place([str(page.relative_to(DOCS)) for page in PAGES], NAV)
    assert wrong == [], "each page stands in mkdocs.yml, under nav, once"


def test_a_page_without_a_place_and_a_place_without_a_page_are_found() -> None:
    nav = "  - Title: a.md\n  - b.md\n"
    assert out_of_place(["a.md", "b.md"], nav) == []
    assert out_of_place(["a.md", "b.md", "c.md"], nav) == ["c.md"]
    assert out_of_place(["a.md"], nav) == ["b.md"]
    assert out_of_place(["a.md", "b.md"], nav + "  - b.md\n") == ["b.md", "b.md", "b.md"]


def test_links_lead_to_files() -> None:
    files = [*ROOT.glob("*.md"), *PAGES]
    assert len(files) > 80
    for file in files:
        assert broken_links(file, file.read_text()) == [], file


def test_a_link_to_nothing_is_found() -> None:
    assert broken_links(ROOT / "README.md", "[a](docs/none.md#b) [c](LICENSE)") == [
        "docs/none.md"
    ]
    assert broken_links(ROOT / "README.md", "[a](https://example.org) `[b](c.md)`") == []
