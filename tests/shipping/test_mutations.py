"""Each kind of change is made, what says nothing is left alone, and a change can be applied."""

import ast

import pytest
from mutations import FIXED, apply_change, fixed_mutants, mutants_of, with_fixed


def changes(source: str) -> set[tuple[str, str]]:
    return {(mutant.kind, mutant.after) for mutant in mutants_of("tacit.plan.a", source)}


@pytest.mark.parametrize(
    ("source", "kind", "after"),
    [
        ("x = a < b", "comparison", "x = a <= b"),
        ("x = a is None", "comparison", "x = a is not None"),
        ("x = f(n=3)", "constant", "x = f(n=4)"),
        ("x = log(a)[1]", "constant", "x = log(a)[0]"),
        ("x = a * b", "arithmetic", "x = a / b"),
        ("x = -a", "arithmetic", "x = a"),
        ("x = a and b", "boolean", "x = a or b"),
        ("if a:\n    f()", "negated condition", "if not a:"),
        ("if not a:\n    f()", "negated condition", "if a:"),
        ("x = [y for y in z if y]", "negated condition", "x = [y for y in z if not y]"),
        ("f(a)", "deleted statement", "pass"),
        ("def f():\n    raise E('no')", "deleted statement", "pass"),
        ("a.b = c", "deleted statement", "pass"),
        ("a += c", "deleted statement", "pass"),
        ("x = f(a, b, c)", "swapped arguments", "x = f(b, a, c)"),
        ("def f():\n    return a", "return", "return None"),
        ("def f():\n    return a < b", "return", "return True"),
        ("def f():\n    return True", "return", "return False"),
        ("x = min(a, b)", "name", "x = max(a, b)"),
        ("x = math.floor(a)", "name", "x = math.ceil(a)"),
        ("x = a.__ceil__()", "name", "x = a.__floor__()"),
        ("def f(a=True):\n    ...", "constant", "def f(a=False):"),
        (
            "match a:\n    case B(c=c) if c > 0:\n        f()",
            "comparison",
            "case B(c=c) if c >= 0:",
        ),
    ],
)
def test_each_kind_of_change_is_made(source: str, kind: str, after: str) -> None:
    assert (kind, after) in changes(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""Text 1."""',
        "from a import b",
        "def f(a: 'int | 3') -> 4: ...",
        "@g(1)\ndef f(): ...",
        "X = f'{1}'",
        "Node = A | B",
        "__all__ = [1]",
        "x = min",
        "x = f(a, a)",
        "x = isinstance(a, b)",
        "if TYPE_CHECKING:\n    x = 1",
    ],
)
def test_what_says_nothing_is_left_alone(source: str) -> None:
    allowed = {("name", "x = max")}
    assert changes(source) <= allowed


def test_the_message_of_an_error_is_left_alone() -> None:
    found = changes("def f():\n    raise E(f'{a + 1} is 2', 3)")
    assert found == {("deleted statement", "pass")}


SOURCE = """
def f(a, b=2):
    if a < b:
        return a
    return b


@g.register
def _(leaf: Sampled):
    return 1


@g.register
def _(leaf: Noise):
    return 1
"""


def test_a_mutant_is_named_by_its_function_and_text() -> None:
    mutants = mutants_of("tacit.plan.a", SOURCE)
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    moved = mutants_of("tacit.plan.other", f"X = f(y, z)\n{SOURCE}")
    assert {mutant.name for mutant in mutants} < {mutant.name for mutant in moved}
    assert {mutant.function for mutant in mutants} == {"f", "_(Sampled)", "_(Noise)"}


def test_every_mutant_is_the_source_with_one_change() -> None:
    whole = ast.unparse(ast.parse(SOURCE))
    for mutant in mutants_of("tacit.plan.a", SOURCE):
        text = ast.unparse(apply_change(SOURCE, mutant.at))
        assert text != whole
        assert len(set(text.splitlines()) ^ set(whole.splitlines())) <= 2
        lines = SOURCE.splitlines()[mutant.first - 1 : mutant.last]
        assert lines[0].strip().startswith(mutant.before.split()[0].strip(":"))


def test_a_change_that_is_not_there_is_refused() -> None:
    with pytest.raises(LookupError, match="no change number 99"):
        apply_change(SOURCE, 99)


def test_fixed_mutants_are_found_by_what_they_do() -> None:
    source = (
        "def g():\n    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n    _limit(FILES)\n"
        "def _(leaf: Sampled):\n    return Cost(e, rho, leaf.probability * whole.delta)\n"
    )
    found = fixed_mutants("tacit.any.where", source)
    assert [(each.name, each.function) for each in found] == [
        (FIXED[0], "g"),
        (FIXED[1], "_(Sampled)"),
    ]
    assert "RLIMIT_CORE" not in ast.unparse(with_fixed(source, FIXED[0]))
    squared = "leaf.probability * leaf.probability * whole.delta"
    assert squared in ast.unparse(with_fixed(source, FIXED[1]))
    assert fixed_mutants("tacit.any.where", "x = a.probability * b\nresource.RLIMIT_CORE") == []
