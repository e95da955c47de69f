"""Files of an answer for spreadsheets and programs, and its question as code.

A cell of a CSV file that a spreadsheet would read as a formula is given an apostrophe in front,
which spreadsheets show as text. Numbers are never changed.
"""

import csv
import io
import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.extras import is_installed, load

FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
"""Characters with which a spreadsheet lets a formula begin, also in their wide forms."""

HOW_CSV_IS_SAFE = (
    "In the CSV, a text that a spreadsheet could run as a formula starts with an apostrophe."
)
ARROW = "application/vnd.apache.arrow.stream"


def harmless(cell: Any) -> Any:
    r"""Return a cell that no spreadsheet runs: texts get an apostrophe where they need one.

    Example:
        >>> harmless("=1+1"), harmless("\tcmd"), harmless("north"), harmless(-5)
        ("'=1+1", "'\tcmd", 'north', -5)
    """
    if not isinstance(cell, str):
        return cell
    begin = cell.lstrip(" \N{NO-BREAK SPACE}\N{ZERO WIDTH NO-BREAK SPACE}")[:1]
    is_safe = not begin or (begin not in FORMULA and not is_control(begin))
    text = cell.replace("\0", "\N{SYMBOL FOR NULL}")
    return text if is_safe else f"'{text}"


def is_control(character: str) -> bool:
    """Return whether a character is a control character, such as a tab or a NUL."""
    return ord(character) < 32 or 127 <= ord(character) < 160  # noqa: PLR2004


def to_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    r"""Return columns as CSV in which each text is quoted and harmless.

    Example:
        >>> to_csv({"ward": ["=north"], "n": [12], "n_high": [None]})
        '"ward","n","n_high"\r\n"\'=north",12,""\r\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([harmless(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if each is None else harmless(_cell(each)) for each in row])
    return out.getvalue()


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def has_parquet() -> bool:
    """Return whether this installation can write Parquet files."""
    return is_installed("arrow")


def to_parquet(stream: bytes) -> bytes:
    """Return an Arrow stream of the API as a Parquet file, with the same metadata."""
    pyarrow = load("pyarrow", extra="arrow")
    with load("pyarrow.ipc", extra="arrow").open_stream(stream) as reader:
        table = reader.read_all()
    sink = pyarrow.BufferOutputStream()
    load("pyarrow.parquet", extra="arrow").write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def as_python(sql: str, amounts: Mapping[str, str], address: str) -> str:
    """Return a program that asks the same question over the same API."""
    given = ", ".join(f"{name}={value!r}" for name, value in amounts.items())
    return (
        "import tacit\n\n"
        f"session = tacit.connect({address!r})  # the token is in TACIT_TOKEN\n"
        f"answer = session.sql({sql!r}).ask({given})\n"
        "print(answer)\n"
    )


def as_curl(sql: str, amounts: Mapping[str, str], address: str) -> str:
    """Return a command that asks the same question, for a shell."""
    body = json.dumps({"sql": sql, **amounts}, ensure_ascii=True)
    return (
        'curl -H "Authorization: Bearer $TACIT_TOKEN" -H "Content-Type: application/json" \\\n'
        f"  -d {shlex.quote(body)} \\\n  {shlex.quote(address + '/v1/ask')}\n"
    )
