"""The page about the language says what is so."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from clinic import catalog

from tacit.core.catalog import Catalog, Limits
from tacit.core.domain import Column, Kind, Schema
from tacit.core.loss import Loss
from tacit.errors import TacitError
from tacit.query.pricing import price
from tacit.sql.parser import parse

PAGE = (Path(__file__).parents[2] / "docs/reference/sql.md").read_text()
LIMITS = Limits(max_groups=3, max_rows=10)
LOSS = Loss.zcdp("0.1", "1e-6")


def with_times(known: Catalog) -> Catalog:
    """Return the catalogue of the clinic, with a column of timestamps."""
    first, *others = known.datasets
    columns = (*first.schema.columns, Column("seen", Kind.TIMESTAMP, zone="Europe/Berlin"))
    seen = replace(first, schema=Schema(columns))
    return replace(known, datasets=(seen, *others))


CATALOG = with_times(catalog(LIMITS))


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


ASKED = [line for block in blocks("sql") for line in block.splitlines()]
REFUSED = [tuple(block.splitlines()) for block in blocks("refused")]


def test_the_page_has_its_examples() -> None:
    assert len(ASKED) >= 15
    assert len(REFUSED) >= 5


@pytest.mark.parametrize("text", ASKED)
def test_what_can_be_asked_has_a_price(text: str) -> None:
    assert price(parse(text, CATALOG), CATALOG, LOSS).loss == LOSS


@pytest.mark.parametrize(("text", "told"), REFUSED)
def test_what_is_refused_is_told_as_printed(text: str, told: str) -> None:
    with pytest.raises(TacitError) as refusal:
        price(parse(text, CATALOG), CATALOG, LOSS)
    assert str(refusal.value) == told
