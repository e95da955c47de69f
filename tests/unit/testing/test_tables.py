from collections import Counter

import pytest

from tacit.testing.tables import RATINGS, SALARY, VAPE, ExampleTable


@pytest.mark.parametrize("table", [SALARY, VAPE, RATINGS])
def test_rows_are_as_long_as_the_header(table: ExampleTable) -> None:
    assert {len(row) for row in table.rows} == {len(table.columns)}


def test_three_public_facts_single_out_a_salary() -> None:
    facts = Counter(row[:4] for row in SALARY.rows)
    assert facts["faculty", "CSE", "female", "SE Asian"] == 1


def test_one_public_fact_does_not() -> None:
    assert Counter(SALARY.column("position"))["faculty"] > 1


def test_vape_table_holds_the_three_people() -> None:
    assert VAPE.column("name") == ("John", "Kate", "David")
