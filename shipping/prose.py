"""Find the passages that people read: docstrings, comments, error messages, help texts, pages.

Code inside prose is replaced by the word ``CODE``, so that a rule about English never looks at
names or at examples. A placeholder of an f-string becomes its name: ``<epsilon>``.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef

DOCSTRINGS = frozenset({"module", "class", "function", "property", "attribute"})
"""Kinds of passages that are docstrings; the others: comment, error, help, heading, page."""

CODE = "CODE"


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of prose: where it stands, its kind, what it belongs to, and the text."""

    path: Path
    line: int
    kind: str
    name: str
    text: str
    raw: str
    """The text as it is written, code and examples included."""

    @property
    def first_line(self) -> str:
        """The summary: the text up to the first blank line, as one line."""
        return " ".join(self.text.strip().split("\n\n")[0].split())

    def sentences(self) -> list[str]:
        """Split the passage into sentences; list items and paragraphs end a sentence."""
        found = []
        for block in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.)\s+", f"\n{self.text}"):
            found += re.split(
                r"(?<=[.!?])[\"')]*\s+(?=[\"'(<]*[A-Z0-9])", " ".join(block.split())
            )
        return [sentence for sentence in found if sentence]


def passages(path: Path) -> list[Passage]:
    """Return the passages of a Python file or a Markdown page, by their lines."""
    text = path.read_text(encoding="utf-8")
    found = _of_page(path, text) if path.suffix == ".md" else _of_module(path, text)
    return sorted(found, key=lambda passage: passage.line)


def files_under(places: list[Path]) -> list[Path]:
    """Return all Python files and Markdown pages in the given files and folders."""
    found = []
    for place in places:
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        found += [path for path in inside if path.suffix in {".py", ".md"} and path.is_file()]
    return found


# Python ---------------------------------------------------------------------------------------


def is_property(node: Function) -> bool:
    """Return whether a method is read like an attribute."""
    names = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
    return bool(names & {"property", "cached_property", "setter"})


def _of_module(path: Path, text: str) -> Iterator[Passage]:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            yield from _docstring(path, node)
            yield from _attributes(path, node)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for value in [*node.exc.args, *(word.value for word in node.exc.keywords)]:
                said = message(value)
                if said and " " in said.strip():
                    yield Passage(path, value.lineno, "error", _callee(node.exc), said, said)
        elif isinstance(node, ast.Call):
            for word in node.keywords:
                said = message(word.value) if word.arg in {"help", "short_help"} else None
                if said:
                    plain = without_code(said)
                    yield Passage(path, word.value.lineno, "help", _callee(node), plain, said)
    yield from _comments(path, text)


def _docstring(path: Path, node: ast.Module | ast.ClassDef | Function) -> Iterator[Passage]:
    text = ast.get_docstring(node)
    if text is None:
        return
    if isinstance(node, ast.Module):
        kind = "module"
    elif isinstance(node, ast.ClassDef):
        kind = "class"
    else:
        kind = "property" if is_property(node) else "function"
    name = getattr(node, "name", path.parent.name if path.stem == "__init__" else path.stem)
    yield Passage(path, node.body[0].lineno, kind, name, without_code(text), text)


def _attributes(path: Path, node: ast.Module | ast.ClassDef | Function) -> Iterator[Passage]:
    """Yield the strings that stand directly after an assignment, as documentation of it."""
    for before, after in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(before, ast.Assign | ast.AnnAssign)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            target = before.target if isinstance(before, ast.AnnAssign) else before.targets[0]
            text = after.value.value
            name = ast.unparse(target)
            yield Passage(path, after.lineno, "attribute", name, without_code(text), text)


def message(node: ast.expr) -> str | None:
    """Return the text of a string or f-string, with placeholders as ``<name>``; else None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_piece(value) for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = message(node.left), message(node.right)
        return None if left is None or right is None else left + right
    return None


def _piece(node: ast.expr) -> str:
    if isinstance(node, ast.FormattedValue):
        return f"<{_name_of(node.value)}>"
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _name_of(node: ast.expr) -> str:
    """Return a word for what an expression gives."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Attribute(attr="join")):
            return "list"
        case ast.Call(args=[ast.Name(id=name) | ast.Attribute(attr=name), *_]):
            return name
        case ast.Call(func=function):
            return _name_of(function)
        case ast.Subscript(value=value):
            return _name_of(value)
        case _:
            return "value"


def _callee(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _comments(path: Path, text: str) -> Iterator[Passage]:
    """Yield comments; lines of comments that follow each other are one passage."""
    block: list[str] = []
    start = last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        words = _comment_text(token.string)
        alone = token.line.strip().startswith("#")
        if not (alone and block and token.start[0] == last + 1):
            yield from _comment(path, start, block)
            block, start = [], token.start[0]
        block.append(words)
        last = token.start[0] if alone else 0
    yield from _comment(path, start, block)


def _comment_text(comment: str) -> str:
    text = comment.lstrip("#!").strip()
    text = re.sub(r"^(noqa|type: ignore|pragma)[^-]*(- )?", "", text)
    return "" if re.match(r"^[\w ,.]*-{5,}", text) else text


def _comment(path: Path, line: int, block: list[str]) -> Iterator[Passage]:
    text = "\n".join(block).strip()
    if text:
        yield Passage(path, line, "comment", path.stem, without_code(text), text)


# text -----------------------------------------------------------------------------------------

SECTION = re.compile(r"^(Example|Examples|Reference|References):", flags=re.MULTILINE)


def without_code(text: str) -> str:
    """Return a docstring's or comment's text without examples, references and inline code."""
    lines, skipped = [], False
    for line in text.splitlines():
        if SECTION.match(line.strip()):
            skipped = True
        elif skipped and (not line.strip() or line.startswith((" ", "\t"))):
            continue
        else:
            skipped = False
            lines.append(line)
    text = re.sub(r"^\s*(>>>|\.\.\. ).*$", "", "\n".join(lines), flags=re.MULTILINE)
    # what is indented after a blank line is a formula or a listing
    text = re.sub(r"(?<=\n\n)((?: {4,}\S.*\n?)+)", "\n", text)
    return re.sub(r"``[^`]+``|`[^`]+`", CODE, text)


def _of_page(path: Path, text: str) -> Iterator[Passage]:
    # code keeps its number of lines, so that the lines of passages stay true
    text = re.sub(r"```.*?```|<!--.*?-->", _blank, text, flags=re.DOTALL)
    block: list[str] = []
    start = 0
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        bare = line.strip()
        stands_alone = not bare or bare.startswith(("#", "|", ":::", "!!!"))
        starts_item = bool(re.match(r"([-*]|\d+\.)\s", bare))
        if block and (stands_alone or starts_item):
            yield _page_passage(path, start, "page", "\n".join(block))
            block = []
        if bare.startswith("#"):
            yield _page_passage(path, number, "heading", bare.lstrip("# "))
        elif bare.startswith("|"):
            for cell in bare.strip("|").split("|"):
                if re.search(r"[A-Za-z]", cell):
                    yield _page_passage(path, number, "cell", cell.strip())
        elif bare and not stands_alone:
            start = start if block else number
            block.append(re.sub(r"^([-*]|\d+\.)\s+", "", bare))


def _page_passage(path: Path, line: int, kind: str, text: str) -> Passage:
    plain = re.sub(r"`[^`]+`", CODE, text)
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    plain = re.sub(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{2,3}|(?<=\S)\*", "", plain)
    return Passage(path, line, kind, path.stem, plain, text)


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")
