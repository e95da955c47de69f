"""The screen Catalogue: what may be asked about, what is declared, and who said so."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Response

from tacit.server.console.api_calls import ApiRefused
from tacit.server.console.catalogue_words import TableShown, tables_in_words
from tacit.server.console.link_drawing import link_drawings
from tacit.server.console.visit import Visit, console_router, shown_to
from tacit.server.token_policy import Role

router = console_router()

MOST_TABLES = 8
"""The most tables on a page; others are found by their names."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table on the page: the id of its heading, the table, and questions about it."""

    id: str
    table: TableShown
    questions: tuple[dict[str, str], ...]


@router.get("/catalogue", **shown_to(Role.ANALYST, Role.OWNER, Role.AUDITOR))
async def catalogue(visit: Visit) -> Response:
    """Show the tables, or those whose names contain ``find``. Nothing is read or charged."""
    catalog = await visit.api("GET", "/v1/datasets")
    wanted = visit.query.get("find", "")
    tables = tables_in_words(catalog)
    found = [each for each in tables if wanted.casefold() in each.name.casefold()]
    return await visit.page(
        "catalogue.html",
        screen="catalogue",
        sections=await _sections(visit, found[:MOST_TABLES]),
        others=[each.name for each in found[MOST_TABLES:]],
        drawings=[] if wanted else link_drawings(catalog),
        find=wanted,
        has_tables=bool(tables),
        has_search=len(tables) > MOST_TABLES or bool(wanted),
        may_ask=visit.has_role(Role.ANALYST, Role.OWNER),
    )


async def _sections(visit: Visit, tables: Sequence[TableShown]) -> list[Section]:
    questions = await asyncio.gather(*(_questions(visit, each) for each in tables))
    return [
        Section(f"table-{number}", table, found)
        for number, (table, found) in enumerate(zip(tables, questions, strict=True), 1)
    ]


async def _questions(visit: Visit, table: TableShown) -> tuple[dict[str, str], ...]:
    """Return questions about a table that work; a public table has none of its own.

    A table that only links those of the visitor's token has none either.
    """
    if table.is_public:
        return ()
    told = await visit.try_api("GET", "/v1/datasets/{}/examples", table.name)
    if told.status == 404:  # noqa: PLR2004 - not for this token, or a name with a slash
        return ()
    if told.status != 200:  # noqa: PLR2004
        raise ApiRefused(told)
    return tuple(told.json["examples"])
