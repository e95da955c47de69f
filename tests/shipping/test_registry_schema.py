"""The comparison with the registry's schema notices each way in which ours can fall behind.

The schemas here are made from our own fields, because the registry's is not in this repository.
"""

from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from registry_schema import differences, main, refusals

from tacit.certify.registry import FIELDS, NAMES, NUMBER, yaml_of

TYPES = {NUMBER: {"type": "number"}, NAMES: {"type": "array", "items": {"type": "string"}}}


def schema() -> dict[str, Any]:
    """A schema in the registry's form with the fields that we know."""
    whole: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
    for path, told in FIELDS.items():
        place, (*above, last) = whole, path.split(".")
        for each in above:
            new = {"type": "object", "additionalProperties": False, "properties": {}}
            place = place["properties"].setdefault(each, new)
        one = {"tier": told.tier, **TYPES.get(told.form, {"type": "string"})}
        if told.allowed:
            one["enum"] = [int(each) if told.form == NUMBER else each for each in told.allowed]
        place["properties"][last] = one
        if told.required:
            place.setdefault("required", []).append(last)
    return whole


def record() -> dict[str, Any]:
    """A complete record, as a file of YAML has it."""
    flat: dict[str, Any] = {}
    for path, told in FIELDS.items():
        place, (*above, last) = flat, path.split(".")
        for each in above:
            place = place.setdefault(each, {})
        values = {NUMBER: Fraction(1, 2), NAMES: ["somebody"]}
        place[last] = told.allowed[0] if told.allowed else values.get(told.form, "2026-01-31")
    flat["tier"] = 3
    found: dict[str, Any] = yaml.safe_load(yaml_of(flat))
    return found


def test_our_fields_are_those_of_a_schema_that_says_the_same() -> None:
    assert differences(schema()) == []
    assert refusals(schema(), record()) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("variant_name", "flavor_name"), ("privacy_unit_details", "privacy_unit_description")],
)
def test_a_field_that_is_renamed_is_noticed(old: str, new: str) -> None:
    text = yaml.safe_dump(schema()).replace(f"{old}:", f"{new}:")
    renamed = yaml.safe_load(text)
    told = " ".join(differences(renamed))
    assert f"{new} is not in FIELDS" in told
    assert f"{old} is not in the schema" in told
    assert any(old in each for each in refusals(renamed, record()))


def test_other_values_tiers_and_requirements_are_noticed(tmp_path: Path) -> None:
    changed = deepcopy(schema())
    basic = changed["properties"]["deployment"]["properties"]["basic"]
    basic["properties"]["data_product_type"]["enum"].remove("SQL queries")
    basic["properties"]["data_product_sector"]["tier"] = 2
    basic["required"].append("data_product_sector")
    told = "; ".join(differences(changed))
    for words in ("other allowed values", "sector is of tier 2", "sector is required"):
        assert words in told
    file, made = tmp_path / "schema.yaml", tmp_path / "record.yaml"
    file.write_text(yaml.safe_dump(schema()))
    made.write_text(yaml.safe_dump(record()))
    assert main(str(file), [str(made)]) == 0
    file.write_text(yaml.safe_dump(changed))
    assert main(str(file), [str(made)]) == 1
