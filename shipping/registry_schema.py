"""Compare our description of a registry record with the registry's own schema.

The schema is a file of https://github.com/opendp/deployments-registry-data, which is not part
of this repository: `just registry-schema deployments-schema.yaml RECORD...` reads a copy. It
says where `tacit.certify.registry.FIELDS` differs from it, whether it is the schema that we
have read (`READ`), and what it refuses in the records.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, FormatChecker

from tacit.certify.registry import FIELDS

READ = "9d607ad7e587fd440f5164d407e7a77089b46b8caa016f5d8c7d127cfc1d5291"
"""The SHA-256 of the schema that `FIELDS` follows: that of commit 3e9c812, of 2026-07-15."""

Schema = Mapping[str, Any]


def fields_in(schema: Schema, above: str = "") -> Iterator[tuple[str, Schema, bool]]:
    """Yield the path of each field of a schema, its description, and whether it is required."""
    required = schema.get("required", ())
    for name, told in schema["properties"].items():
        if "properties" in told:
            yield from fields_in(told, f"{above}{name}.")
        else:
            yield above + name, told, name in required


def differences(schema: Schema) -> list[str]:
    """Return in words where our fields differ from those of the registry's schema."""
    theirs = {path: (told, required) for path, told, required in fields_in(schema)}
    found = [f"{path} is not in FIELDS" for path in theirs.keys() - FIELDS.keys()]
    found += [f"{path} is not in the schema" for path in FIELDS.keys() - theirs.keys()]
    for path in sorted(theirs.keys() & FIELDS.keys()):
        (told, required), ours = theirs[path], FIELDS[path]
        if {str(each) for each in told.get("enum", ())} != set(ours.allowed):
            found.append(f"{path} has other allowed values: {told.get('enum')}")
        if told.get("tier", ours.tier) != ours.tier:
            found.append(f"{path} is of tier {told['tier']}")
        if required and not ours.required:
            found.append(f"{path} is required")
    return sorted(found)


def refusals(schema: Schema, record: object) -> list[str]:
    """Return what the registry's schema refuses in a record."""
    Draft202012Validator.check_schema(schema)
    judge = Draft202012Validator(schema, format_checker=FormatChecker())
    return [f"{each.json_path}: {each.message}" for each in judge.iter_errors(record)]


def main(schema_file: str, records: Iterable[str]) -> int:
    """Print what differs and what is refused; return 1 if anything is."""
    content = Path(schema_file).read_bytes()
    schema = yaml.safe_load(content)
    same = sha256(content).hexdigest() == READ
    print("This is the schema that we have read." if same else "This schema is another one.")
    found = differences(schema)
    for record in records:
        told = yaml.safe_load(Path(record).read_text(encoding="utf-8"))
        found += [f"{record}: {each}" for each in refusals(schema, told)]
    print("\n".join(found) or "Nothing differs, and no record is refused.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
