from dataclasses import FrozenInstanceError

import pytest

from tacit.core.sensitivity import Rule

ROW = Rule("a row changes a count by 1")


def test_a_rule_prints_as_its_name_with_its_facts() -> None:
    assert str(ROW) == "a row changes a count by 1"
    assert str(Rule("clamp", ("lower=0", "upper=9"))) == "clamp [lower=0, upper=9]"


def test_a_proof_prints_as_a_tree_two_spaces_a_level() -> None:
    unit = Rule("a unit has at most max_rows rows", ("max_rows=3",), (ROW,))
    both = Rule("two columns stand side by side", because=(unit, ROW))
    assert str(both).split("\n") == [
        "two columns stand side by side",
        "  a unit has at most max_rows rows [max_rows=3]",
        "    a row changes a count by 1",
        "  a row changes a count by 1",
    ]


def test_proofs_are_equal_only_down_to_the_last_step() -> None:
    assert Rule("sum", because=(ROW,)) == Rule("sum", because=(ROW,))
    assert Rule("sum", because=(ROW,)) != Rule("sum", because=(Rule("a row is a row"),))


def test_a_rule_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        ROW.name = "a row changes nothing"
