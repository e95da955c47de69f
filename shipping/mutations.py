"""Make small changes (mutants) to a module's syntax tree, such as tests should notice.

A mutant is named by its package, its function and the text of the statement before and after
the change. Lines and file names are not part of the name, so that the name outlives moves and
edits nearby.

Nothing is changed in annotations, decorators, docstrings, messages of errors and patterns:
there, a change is either no behaviour, or it breaks the import and says nothing about the
tests.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

Function = ast.FunctionDef | ast.AsyncFunctionDef
Statement = ast.stmt | ast.match_case

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "any": "all", "floor": "ceil", "__floor__": "__ceil__"}
NAMES |= {"ROUND_FLOOR": "ROUND_CEILING", "ROUND_DOWN": "ROUND_UP"}
NAMES |= {after: before for before, after in NAMES.items()}

NOT_SWAPPED = frozenset(
    {"isinstance", "issubclass", "getattr", "hasattr", "cast", "TypeVar"}
    | {"min", "max", "gcd", "lcm", "hypot"}
)
"""Calls whose swapped arguments are an error of types, or make no difference."""


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, its kind, and the statement before and after it."""

    module: str
    function: str
    kind: str
    before: str
    after: str
    first: int
    last: int
    """The lines of the changed statement, without the statements inside it."""
    at: int
    """The place of the change among all changes of the module, by which it is applied."""
    copy: int = 0
    """The number of changes before this one that have the same text, in the same function."""

    @property
    def package(self) -> str:
        """The package right below the root, such as ``plan``."""
        return self.module.split(".")[1]

    @property
    def name(self) -> str:
        """The text that names the mutant, whatever its file and line."""
        return f"{self.package}: {self.function}: {self.before} -> {self.after} #{self.copy}"

    @property
    def change(self) -> dict[str, object]:
        """The description by which a process imports the module with this change."""
        return {"module": self.module, "at": self.at}

    @property
    def key(self) -> str:
        """The name with its module: two modules of a package may have equal functions."""
        return f"{self.module}: {self.name}"


@dataclass(frozen=True)
class _Change:
    """A new value for one field of a node, and the statement that it belongs to."""

    kind: str
    function: str
    statement: Statement
    node: ast.AST
    field: str
    place: int | None
    new: object

    def swap(self, new: object) -> object:
        """Put ``new`` in place of what is there, and return what was there."""
        if self.place is None:
            old = getattr(self.node, self.field)
            setattr(self.node, self.field, new)
        else:
            siblings = getattr(self.node, self.field)
            old, siblings[self.place] = siblings[self.place], new
        return old


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Return all mutants of a module."""
    found, seen, heads = [], Counter[str](), dict[int, str]()
    for at, change in enumerate(_changes(ast.parse(source))):
        statement = change.statement
        first, last = _lines(statement)
        before = heads.setdefault(id(statement), "") or _head(statement)
        heads[id(statement)] = before
        old = change.swap(change.new)
        # a deleted statement is no longer there, and shows as what took its place
        after = "pass" if change.kind == "deleted statement" else _head(statement)
        change.swap(old)
        if before == after:
            continue
        mutant = Mutant(module, change.function, change.kind, before, after, first, last, at)
        found.append(replace(mutant, copy=seen[mutant.name]))
        seen[mutant.name] += 1
    return found


def apply_change(source: str, at: int) -> ast.Module:
    """Return the syntax tree of a module with the change number ``at``."""
    tree = ast.parse(source)
    for number, change in enumerate(_changes(tree)):
        if number == at:
            change.swap(change.new)
            return ast.fix_missing_locations(tree)
    message = f"The module has no change number {at}: it was edited since mutants were listed."
    raise LookupError(message)


# text of statements ---------------------------------------------------------------------------

BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def _head(statement: Statement) -> str:
    """Return the text of a statement without the statements inside it."""
    if not hasattr(statement, "body"):
        return ast.unparse(statement)
    bare = copy.copy(statement)
    for field in BODIES:
        if hasattr(bare, field):
            setattr(bare, field, [])
    bare.body = [ast.Expr(ast.Constant(...))]
    return ast.unparse(bare).strip().removesuffix("...").rstrip()


def _lines(statement: Statement) -> tuple[int, int]:
    """Return the first and the last line of a statement's head."""
    if isinstance(statement, ast.match_case):
        first = last = statement.pattern.lineno
    else:
        first, last = statement.lineno, statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    return first, max(first, body[0].lineno - 1) if body else last


# finding changes ------------------------------------------------------------------------------


def _changes(tree: ast.Module) -> Iterator[_Change]:
    """Yield the changes of a module, always in the same order."""
    yield from _in_body(tree, "")


def _in_body(owner: ast.AST, function: str) -> Iterator[_Change]:
    for field in BODIES:
        for place, node in enumerate(getattr(owner, field, [])):
            if isinstance(node, ast.stmt):
                yield from _in_statement(owner, field, place, node, function)
            else:  # the handlers of a try, the cases of a match
                yield from _in_body(node, function)


def _in_statement(
    owner: ast.AST, field: str, place: int, node: ast.stmt, function: str
) -> Iterator[_Change]:
    if _is_left_alone(node):
        return
    if _can_be_deleted(node):
        kind = "deleted statement"
        yield _Change(kind, function or "<module>", node, owner, field, place, ast.Pass())
    if isinstance(node, ast.Raise):
        return
    inner = function
    if isinstance(node, Function | ast.ClassDef):
        inner = f"{function}.{_name_of(node)}".lstrip(".")
    yield from _in_head(node, inner or "<module>")
    yield from _in_body(node, inner)


def _in_head(node: ast.stmt, function: str) -> Iterator[_Change]:
    """Yield the changes of a statement itself, without the statements inside it."""
    if isinstance(node, ast.Return):
        yield from _returns(node, function)
    if isinstance(node, Function):
        yield from _defaults(node, function)
    elif not isinstance(node, ast.ClassDef):
        for name, value in ast.iter_fields(node):
            if name not in {*BODIES, "annotation", "target", "targets"}:
                yield from _in_field(node, name, value, node, function)
    if isinstance(node, ast.Match):
        yield from _guards(node, function)


def _defaults(node: Function, function: str) -> Iterator[_Change]:
    for name in ("defaults", "kw_defaults"):
        for place, default in enumerate(getattr(node.args, name)):
            if default is not None:
                yield from _in_place(node.args, name, place, default, node, function)


def _guards(node: ast.Match, function: str) -> Iterator[_Change]:
    for case in node.cases:
        if case.guard:
            yield from _in_place(case, "guard", None, case.guard, case, function)


def _name_of(node: Function | ast.ClassDef) -> str:
    """Return a function's name; an unnamed one of a dispatch has the types that it takes."""
    if node.name != "_" or isinstance(node, ast.ClassDef):
        return node.name
    types = [ast.unparse(each.annotation) for each in node.args.args if each.annotation]
    return f"_({', '.join(types)})"


def _is_left_alone(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal | ast.Assert):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in {"TYPE_CHECKING", "__name__ == '__main__'"}
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        # a capital name of types that are joined by | is a type
        return isinstance(target, ast.Name) and (
            target.id.startswith("__") or (target.id[0].isupper() and not target.id.isupper())
        )
    return False


def _can_be_deleted(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Await)
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets)
    return isinstance(node, ast.Raise | ast.AugAssign)


def _returns(node: ast.Return, function: str) -> Iterator[_Change]:
    value = node.value
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return
    says = (ast.Compare, ast.BoolOp)
    is_bool = isinstance(value, ast.Constant) and isinstance(value.value, bool)
    is_not = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    news = (True, False) if isinstance(value, says) or is_bool or is_not else (None,)
    for new in news:
        if not (is_bool and value.value is new):  # type: ignore[attr-defined]
            yield _Change("return", function, node, node, "value", None, ast.Constant(new))


def _in_field(
    node: ast.AST, name: str, value: object, statement: Statement, function: str
) -> Iterator[_Change]:
    if isinstance(value, list):
        for place, each in enumerate(value):
            if isinstance(each, ast.AST):
                yield from _in_place(node, name, place, each, statement, function)
    elif isinstance(value, ast.AST):
        yield from _in_place(node, name, None, value, statement, function)


def _in_place(  # noqa: PLR0913, PLR0917 - where a node is takes three of them
    owner: ast.AST,
    field: str,
    place: int | None,
    node: ast.AST,
    statement: Statement,
    function: str,
) -> Iterator[_Change]:
    """Yield the changes of an expression, and of all within it."""
    if isinstance(node, ast.JoinedStr | ast.pattern):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return  # of zip: lengths that differ are our mistake, and no input makes them differ
    is_test = field in {"test", "ifs", "guard"}
    is_index = isinstance(owner, ast.Subscript) and field == "slice"
    news = list(_expression_changes(node, is_test=is_test, is_index=is_index))
    for kind, new in news:
        yield _Change(kind, function, statement, owner, field, place, new)
    for name, value in ast.iter_fields(node):
        if name not in {"ctx", "annotation", "op", "ops"}:
            yield from _in_field(node, name, value, statement, function)


def _expression_changes(  # noqa: C901, PLR0912 - a case for each kind of node
    node: ast.AST, *, is_test: bool, is_index: bool
) -> Iterator[tuple[str, ast.expr]]:
    """Yield what an expression may become, and the kind of that change."""
    if is_test and isinstance(node, ast.expr) and not _is_equality(node):
        is_negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        yield "negated condition", node.operand if is_negated else ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for place, op in enumerate(ops):
                changed = [*ops[:place], COMPARISONS[type(op)](), *ops[place + 1 :]]
                yield "comparison", ast.Compare(left, changed, others)
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=0 | 1 as value) if is_index:
            yield "constant", ast.Constant(1 - value)
        case ast.Constant(value=int() | float() as value):
            yield "constant", ast.Constant(value + 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            yield "arithmetic", ast.BinOp(left, ARITHMETIC[type(op)](), right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "arithmetic", operand
        case ast.UnaryOp(op=ast.Not(), operand=operand) if not is_test:
            yield "negated condition", operand
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "boolean", ast.BoolOp(other, values)
        case ast.Call(func=callee, args=[first, second, *rest], keywords=keywords) if _may_swap(
            callee, first, second
        ):
            yield "swapped arguments", ast.Call(callee, [second, first, *rest], keywords)
        case ast.Name(id=name) if name in NAMES:
            yield "name", ast.Name(NAMES[name], ast.Load())
        case ast.Attribute(value=value, attr=name) if name in NAMES:
            yield "name", ast.Attribute(value, NAMES[name], ast.Load())


def _is_equality(node: ast.expr) -> bool:
    """Return whether another comparison already negates a condition."""
    strict = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    return (
        isinstance(node, ast.Compare)
        and len(node.ops) == 1
        and not isinstance(node.ops[0], strict)
    )


def _may_swap(callee: ast.expr, first: ast.expr, second: ast.expr) -> bool:
    if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
        return False
    same = ast.unparse(first) == ast.unparse(second)
    return not same and ast.unparse(callee).rpartition(".")[2] not in NOT_SWAPPED


# fixed mutants --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fixed:
    """A mutant that is tried in every run: a past mistake that tests once missed."""

    name: str
    module: str
    function: str
    first: int
    last: int

    @property
    def change(self) -> dict[str, object]:
        """The description by which a process imports the module with this change."""
        return {"module": self.module, "fixed": self.name}

    @property
    def key(self) -> str:
        """The name with its module: two modules of a package may have equal functions."""
        return f"{self.module}: {self.name}"


FIXED = ("the limit of core dumps is deleted", "the delta of a sample shrinks by q squared")
"""Names of the fixed mutants; the second is finding F-P14."""


def fixed_mutants(module: str, source: str) -> list[Fixed]:
    """Find the places of the fixed mutants in a module, by what stands there."""
    found: list[Fixed] = []
    for name, word in zip(FIXED, ("RLIMIT_CORE", ".probability"), strict=True):
        tree = ast.parse(source if word in source else "")
        for node, function in _simple_statements(tree, ""):
            if _fix(name, node) is not None:
                last = node.end_lineno or node.lineno
                found.append(Fixed(name, module, function, node.lineno, last))
    return found


def with_fixed(source: str, name: str) -> ast.Module:
    """Return the syntax tree of a module with a fixed mutant."""
    tree = ast.parse(source)
    for owner in ast.walk(tree):
        body = getattr(owner, "body", None)
        for place, node in enumerate(body if isinstance(body, list) else []):
            new = _fix(name, node) if isinstance(node, ast.stmt) else None
            if new is not None:
                body[place] = new
    return ast.fix_missing_locations(tree)


def _simple_statements(owner: ast.AST, function: str) -> Iterator[tuple[ast.stmt, str]]:
    for field in BODIES:
        for node in getattr(owner, field, []):
            inner = function
            if isinstance(node, Function | ast.ClassDef):
                inner = f"{function}.{_name_of(node)}".lstrip(".")
            elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
                yield node, function
            yield from _simple_statements(node, inner)


def _fix(name: str, node: ast.stmt) -> ast.stmt | None:
    """Return the statement with a fixed mutant; None where it is not the place."""
    if hasattr(node, "body"):
        return None
    if name == FIXED[0]:
        text = ast.unparse(node)
        is_it = isinstance(node, ast.Expr) and "setrlimit(" in text and "RLIMIT_CORE" in text
        return ast.copy_location(ast.Pass(), node) if is_it else None
    new = copy.deepcopy(node)
    for each in ast.walk(new):
        match each:
            case (
                ast.BinOp(
                    left=ast.Attribute(attr="probability") as sampled,
                    op=ast.Mult(),
                    right=ast.Attribute(attr="delta"),
                )
                | ast.BinOp(
                    left=ast.Attribute(attr="delta"),
                    op=ast.Mult(),
                    right=ast.Attribute(attr="probability") as sampled,
                )
            ):
                each.left = ast.BinOp(each.left, ast.Mult(), copy.deepcopy(sampled))
                return new
    return None
