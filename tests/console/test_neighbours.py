"""Pages show nothing but noise of the tables: D, a neighbour of it, and empty tables.

`TACIT_CONSOLE_NEIGHBOURS` says how many walks; `just campaign-console` takes 500.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pytest
from browsing import clinic_project
from conftest import Bar
from fastapi import Response
from serving import Server, serving
from walks import Walker, masked

WALKS = int(os.environ.get("TACIT_CONSOLE_NEIGHBOURS", "30"))
LIES = 12
NEIGHBOUR = (
    "INSERT INTO patients VALUES (77777, 'ann', 'Rome', 1800)",
    "INSERT INTO visits SELECT 900000 + range, 77777, 'odd', NULL, NULL, 99999 FROM range(300)",
    "INSERT INTO labs VALUES (900001, 999999999), (900002, NULL)",
    "INSERT INTO shifts VALUES ('ann', 9000000000)",
)
EMPTY = ("TRUNCATE patients", "TRUNCATE visits", "TRUNCATE labs", "TRUNCATE shifts")
TABLES = {"D": (), "D'": NEIGHBOUR, "none": EMPTY}
RELEASED = ("/console/ask", "/console/answers", "/console/publications")
"""Where pages show answers, whose numbers have noise; all else of these pages is compared."""


@pytest.fixture
def sides_of(tmp_path: Path) -> Iterator[Callable[..., list[Walker]]]:
    with ExitStack() as running:

        def make(lie: Callable[[Server, Path], None] | None = None) -> list[Walker]:
            found = []
            for place, tables in enumerate(TABLES.values()):
                file = clinic_project(tmp_path / f"{place}", tables=tables)
                server = running.enter_context(serving(file))
                if lie is not None:
                    lie(server, file)
                found.append(Walker(server))
            return found

        yield make


def compared(sides: list[Walker], walks: int) -> tuple[list[str], Counter[int]]:
    """The steps that tell the tables apart, and how many had which status."""
    apart, statuses = list[str](), Counter[int]()
    for number in range(walks):
        for steps in zip(*(side.walk(number) for side in sides), strict=False):
            what, first = steps[0]
            statuses[first.status_code] += 1
            if first.status_code >= 500:
                print(number, what, first.text[-2500:])  # noqa: T201 - if it fails
            is_released = what.split(" ", 2)[2].startswith(RELEASED)
            numbers = not is_released or first.status_code != 200
            seen = [masked(response, numbers=numbers) for _, response in steps]
            if any(each != seen[0] for each in seen):
                apart.append(what)
                print(number, what, *_differences(seen), sep="\n")  # noqa: T201 - if it fails
    return apart, statuses


def _differences(seen: list[tuple[Any, ...]]) -> Iterator[str]:
    for other in seen[1:]:
        if other[:2] != seen[0][:2]:
            yield f"{seen[0][:2]} {other[:2]}"
        pairs = zip(seen[0][2].splitlines(), other[2].splitlines(), strict=False)
        yield from (f"{one!r}\n{two!r}" for one, two in pairs if one != two)


def test_pages_show_nothing_but_noise(sides_of: Callable[..., list[Walker]], bar: Bar) -> None:
    apart, statuses = compared(sides_of(), WALKS)
    name = f"{WALKS} walks, {statuses.total()} pages at D, D' and empty tables"
    shown = ", ".join(f"{status}: {seen}" for status, seen in sorted(statuses.items()))
    bar(f"{name}: told apart", len(apart), "0", not apart)
    bar(f"{name}: by status", shown, "pages and refusals", {200, 303, 404} <= set(statuses))
    assert max(statuses) < 500


def rows_of(file: Path) -> int:
    with duckdb.connect(str(file.parent / "clinic.duckdb"), read_only=True) as owner:
        counted: list[tuple[int]] = owner.execute("SELECT COUNT(*) FROM patients").fetchall()
    return counted[0][0]


def rows_in_a_page(server: Server, file: Path) -> None:
    """The lie: a page that says how many patients there are."""
    state, rows = server.app.state.console.state, rows_of(file)
    respond = state.templates.respond

    def helpful(*given: Any, **named: Any) -> Response:
        response: Response = respond(*given, **named)
        text = bytes(response.body).replace(b"</main>", b"<p>Of %d people.</p></main>" % rows)
        return Response(text, response.status_code, media_type="text/html")

    state.templates.respond = helpful


def rows_in_a_header(server: Server, file: Path) -> None:
    """The lie: a header with the number of rows, of pages with answers alone."""
    state, rows = server.app.state.console.state, rows_of(file)
    respond = state.templates.respond

    def helpful(*given: Any, **named: Any) -> Response:
        response: Response = respond(*given, **named)
        if given[0].startswith("ask"):
            response.headers["X-Rows"] = str(rows)
        return response

    state.templates.respond = helpful


@pytest.mark.parametrize("lie", [rows_in_a_page, rows_in_a_header])
def test_a_page_with_a_number_of_rows_is_caught(
    sides_of: Callable[..., list[Walker]], lie: Callable[[Server, Path], None], bar: Bar
) -> None:
    apart, _ = compared(sides_of(lie), LIES)
    name = f"{lie.__name__.replace('_', ' ')}, {LIES} walks"
    bar(f"{name}: told apart", len(apart), "at least 1", len(apart) >= 1)
