"""The schema that the editor of the screen Ask completes from: tables and their columns.

The words of the language are those of the editor itself (`shipping/console/completion.js`).
"""

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]


def completion_of(catalogue: Json) -> dict[str, Any]:
    """Return the schema that the editor reads, from the catalogue of `GET /v1/datasets`."""
    tables = [*catalogue["datasets"], *catalogue["public"]]
    return {
        "tables": [
            {
                "name": each["name"],
                "detail": _detail_of(each),
                "columns": [_column(column) for column in each["columns"]],
            }
            for each in tables
        ]
    }


def _detail_of(table: Json) -> str:
    if "population" not in table:
        return "public"
    rows, groups = table["max_rows"], table["max_groups"]
    counted = f"{rows} {'row' if rows == 1 else 'rows'} of a person in "
    counted += "1 group" if groups == 1 else f"each of {groups} groups"
    return f"about {table['population']}: {counted}"


def _column(column: Json) -> dict[str, str]:
    detail = column["kind"]
    if keys := column.get("keys"):
        detail += ", 1 key" if len(keys) == 1 else f", {len(keys)} keys"
    elif bounds := column.get("bounds"):
        detail += f", {bounds[0]} to {bounds[1]}"
    return {"name": column["name"], "detail": detail}
