"""A project file for tables that were found: what is not known yet is left out, and refused."""

import json
from collections.abc import Iterable

from tacit.core.column import Column
from tacit.numeric.exact import plain
from tacit.project.address import AddressRule
from tacit.project.engines import EngineAddress

Found = tuple[tuple[str, ...], tuple[Column, ...]]
"""A table's name, part by part, and its columns."""


def draft(
    engine: EngineAddress,
    rule: AddressRule,
    population: str,
    owner: str,
    found: Iterable[Found],
) -> str:
    """The text of a project file over the tables of one engine.

    Names and types are all that was read. Whose rows they are, bounds and keys are for the
    owner to say: until then the file is refused, at the line that lacks them.
    """
    lines = [
        "# What is protected, and what may be asked. All that stands here is public.",
        "# Nothing holds until an owner has recorded it: tacit apply",
        "",
        f"[engines.{_key(engine.name)}]",
        f"kind = {_text(engine.kind)}",
        f"{rule.field} = {_text(engine.address)}",
    ]
    if engine.password is not None:
        lines.append(f"password = {_text(str(engine.password))}")
    lines += [
        "",
        f"[populations.{_key(population)}]",
        'unit = "person"  # whom a row is about: all their rows are protected together',
        f"owners = [{_text(owner)}]",
        f"# budget: tacit budget {population} --epsilon 3 --delta 1e-6",
    ]
    for table, columns in found:
        lines += ["", *_dataset(engine.name, population, table, columns)]
    return "\n".join(lines) + "\n"


def _dataset(
    engine: str, population: str, table: tuple[str, ...], columns: tuple[Column, ...]
) -> list[str]:
    name = table[-1]
    return [
        f"[datasets.{_key(name)}]",
        f"population = {_text(population)}",
        f"engine = {_text(engine)}",
        *([f"table = {_text('.'.join(table))}"] if len(table) > 1 else []),
        'epoch = "1"  # say another when the data has changed',
        f"# whose a row is: tacit protect {name} --unit COLUMN, or --link COLUMN=TABLE.COLUMN",
        "",
        f"[datasets.{_key(name)}.columns]",
        f"# what is known of values: tacit domain {name}.COLUMN 0..100 --source public",
        *(_column(column) for column in columns),
    ]


def _column(column: Column) -> str:
    if column.step is None:
        return f"{_key(column.name)} = {_text(column.kind.value)}"
    step = f"step = {_text(plain(column.step))}"
    return f"{_key(column.name)} = {{ kind = {_text(column.kind.value)}, {step} }}"


def _key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else _text(name)


def _text(text: str) -> str:
    """A basic string of TOML, which is one of JSON but for a character that JSON lets stand."""
    return json.dumps(text).replace("\x7f", "\\u007f")
