from dataclasses import FrozenInstanceError

import pytest

from tacit.core.domain import Column, Kind, Schema
from tacit.errors import InvalidValue, UnknownName

AGE, WARD = Column("age", Kind.INTEGER), Column("ward", Kind.TEXT)


def test_a_schema_finds_its_columns_by_name() -> None:
    schema = Schema((AGE, WARD))
    assert schema.names == ("age", "ward")
    assert [schema[name] for name in schema.names] == [AGE, WARD]


def test_the_order_of_columns_counts() -> None:
    assert Schema((AGE, WARD)) != Schema((WARD, AGE))


def test_an_unknown_column_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="no column 'pay'; the columns are: age, ward"):
        Schema((AGE, WARD))["pay"]


def test_two_columns_of_one_name_are_refused_and_listed() -> None:
    with pytest.raises(InvalidValue, match="distinct names; the given names are age, age"):
        Schema((AGE, Column("age", Kind.TEXT)))


def test_a_schema_is_frozen() -> None:
    schema = Schema((AGE,))
    with pytest.raises(FrozenInstanceError):
        schema.columns = (WARD,)


def test_a_schema_knows_its_names() -> None:
    schema = Schema((Column("age", Kind.INTEGER),))
    assert "age" in schema
    assert "pay" not in schema
