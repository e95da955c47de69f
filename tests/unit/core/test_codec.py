"""Catalogues, losses and standings as plain values, there and back."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from ward import CATALOG, NOTES, dataset, ward

from tacit.core.catalog import Catalog, Limits, UnitColumn
from tacit.core.codec import (
    ELSEWHERE,
    decode_budget_summary,
    decode_catalog,
    decode_loss,
    encode_budget_summary,
    encode_catalog,
    encode_loss,
)
from tacit.core.domain import Bounds, Column, Keys, Kind, Provenance, Schema
from tacit.core.loss import Loss, loss_text
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.core.release import BudgetSummary
from tacit.errors import InvalidValue

LOSSES = [
    Loss.pure("0.1"),
    Loss.pure("1/3"),
    Loss.zcdp("0.05", "1e-7"),
    Loss.approximate("1e-12", "1e-18"),
]
STANDING = BudgetSummary(
    "patients",
    Loss.zcdp("0.05"),
    Loss.zcdp("0.06"),
    Loss.zcdp("0.1"),
    Loss.approximate("1.5", "1e-6"),
    Loss.approximate(2, "1e-6"),
    more=1,
)


def moved(catalog: Catalog) -> Catalog:
    """The catalogue as somebody hears of it who is not told where its tables live."""
    return catalog.with_tables(
        *(
            replace(table, location=replace(table.location, engine=ELSEWHERE))
            for table in catalog.tables
        )
    )


@pytest.mark.parametrize(
    "catalog",
    [
        CATALOG,
        ward(public=False),
        ward(visits=Limits(1, 2, 3)),
        CATALOG.with_tables(
            dataset("notes", NOTES, UnitColumn("person", one_row=True), row_key="words")
        ),
        CATALOG.with_tables(replace(CATALOG.public[0], lookup=("ward", "region"), fan_out=3)),
        CATALOG.with_tables(replace(CATALOG.public[0], lookup=())),
    ],
)
def test_a_catalogue_comes_back_but_for_where_it_lives(catalog: Catalog) -> None:
    told = json.loads(json.dumps(encode_catalog(catalog)))
    assert decode_catalog(told) == moved(catalog)


def test_what_is_told_of_a_column() -> None:
    columns = (
        Column("a", Kind.INTEGER, Bounds.of(0, "1/2", Provenance.POLICY)),
        Column("b", Kind.TEXT, keys=Keys(("x", "y"), Provenance.ESTIMATED)),
        Column("c", Kind.DECIMAL, Bounds.of(0, 9), step=Fraction(1, 100)),
    )
    schema = Schema((Column("person", Kind.TEXT), *columns))
    people = PrivacyUnit("person", Neighbours.REPLACE_ONE)
    catalog = Catalog(
        (Population("patients", people),), (dataset("t", schema, UnitColumn("person")),)
    )
    told = encode_catalog(catalog)
    assert told["populations"] == [
        {"name": "patients", "unit": "person", "neighbours": Neighbours.REPLACE_ONE.value}
    ]
    (table,) = told["datasets"]
    assert table["columns"][1:] == [
        {"name": "a", "kind": "integer", "bounds": ["0", "0.5", "policy"]},
        {"name": "b", "kind": "text", "keys": ["x", "y"], "keys_are": "estimated"},
        {"name": "c", "kind": "decimal", "bounds": ["0", "9", "public"], "step": "0.01"},
    ]
    assert "here" not in json.dumps(told)
    assert decode_catalog(told) == moved(catalog)


def test_days_are_told_as_days() -> None:
    visits = next(
        each for each in encode_catalog(CATALOG)["datasets"] if each["name"] == "visits"
    )
    days = next(each for each in visits["columns"] if each["name"] == "day")
    assert days["bounds"] == ["2026-01-01", "2026-12-31", "public"]
    assert visits["link"]["parent"] == "patients"
    assert "unit" not in visits


@pytest.mark.parametrize("part", ["populations", "datasets", "public"])
def test_what_is_no_catalogue_is_refused(part: str) -> None:
    told = encode_catalog(CATALOG)
    for broken in ({k: v for k, v in told.items() if k != part}, told | {part: [{}]}):
        with pytest.raises(
            InvalidValue, match=r"These values cannot be decoded as a catalog\."
        ):
            decode_catalog(broken)
    boundless = told["datasets"][0] | {"max_groups": 0}
    with pytest.raises(
        InvalidValue, match="Limits must be at least 1, but max_groups=0, max_rows=1,"
    ):
        decode_catalog(told | {"datasets": [boundless]})


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_comes_back_exactly(loss: Loss) -> None:
    assert decode_loss(encode_loss(loss)) == loss


def test_what_is_no_loss_is_refused() -> None:
    told = encode_loss(Loss.pure(1))
    for broken in ({}, told | {"measure": "x"}, told | {"amount": "x"}, {"measure": "epsilon"}):
        with pytest.raises(InvalidValue):
            decode_loss(broken)


def test_a_standing_comes_back_exactly() -> None:
    told = json.loads(json.dumps(encode_budget_summary(STANDING)))
    assert decode_budget_summary(told) == STANDING
    assert told["more"] == 1
    for name in ("population", "cost", "spent", "cap", "total", "promised", "more"):
        with pytest.raises(InvalidValue):
            decode_budget_summary({key: value for key, value in told.items() if key != name})


def test_a_standing_in_words() -> None:
    assert str(STANDING).splitlines() == [
        "This answer cost rho 0.05. Spent about patients so far:",
        "epsilon 1.5 of at most epsilon 2, delta 0.000001 (rho 0.06 of 0.1).",
        "About 1 more question like this fits.",
    ]
    known = replace(STANDING, epsilon=Fraction(5, 4))
    assert str(known).startswith("This answer cost epsilon 1.25 (rho 0.05).")
    assert str(replace(known, rho_first=True)).splitlines()[:2] == [
        "This answer cost rho 0.05 (epsilon 1.25). Spent about patients so far:",
        "rho 0.06 of 0.1 (epsilon 1.5 of at most epsilon 2, delta 0.000001).",
    ]
    free = str(replace(STANDING, cost=Loss.zcdp(0), more=0))
    assert "This answer was paid for before." in free
    assert free.endswith("About 0 more questions like this fit.")


@pytest.mark.parametrize(
    ("amount", "up", "down"),
    [
        ("1/3", "0.333334", "0.333333"),
        ("0.25", "0.25", "0.25"),
        ("0", "0", "0"),
        ("1/700000", "0.0000015", "0.0000014"),
        ("1e-12", "0.000000000001", "0.000000000001"),
        ("12345678.0000001", "12345678.000001", "12345678"),
    ],
)
def test_what_is_shown_is_rounded_toward_more_loss(amount: str, up: str, down: str) -> None:
    loss = Loss.pure(amount)
    assert (loss_text(loss), loss_text(loss, down=True)) == (f"epsilon {up}", f"epsilon {down}")


def test_a_loss_is_shown_in_the_unit_that_was_typed_first() -> None:
    loss, half = Loss.zcdp("0.006224817121", "1e-8"), Fraction(1, 2)
    delta = ", delta 0.00000001"
    assert loss_text(loss, half) == f"epsilon 0.5{delta} (rho 0.006225)"
    assert loss_text(loss, half, rho_first=True) == f"rho 0.006225{delta} (epsilon 0.5)"
    assert loss_text(loss) == f"rho 0.006225{delta}"
    assert loss_text(Loss.approximate(1, "1e-6")) == "epsilon 1, delta 0.000001"
