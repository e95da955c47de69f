"""The screen Connect: owners connect a database, declare its tables, and apply.

The draft on the server has all that was entered, so that reload and back keep it. Each form is
sent to the API, which refuses in words what it cannot use.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import Response

from tacit.server.console import setup_shown as shown
from tacit.server.console.api_calls import ApiRefused
from tacit.server.console.once import act_once
from tacit.server.console.sign_ins import random_text
from tacit.server.console.templates_of import HEADERS
from tacit.server.console.visit import (
    PLACE,
    Visit,
    console_router,
    number_of,
    query_of,
    shown_to,
)
from tacit.server.token_policy import Role

router = console_router()

Json = Mapping[str, Any]

FIRST_LIMIT = 1
"""The limits of a table whose person was chosen, until its owner allows more rows to count."""

DRAFT = "/v1/setup/draft"


async def _show(
    visit: Visit, at: str, status: int = 200, error: Json | None = None
) -> Response:
    """Show the page of a step; without the right to set up, the commands that do the same."""
    answer = await visit.try_api("GET", DRAFT)
    if answer.status != 200:  # noqa: PLR2004 - the visitor or the operator does not allow it
        refused = ApiRefused(answer)
        return await visit.page(
            "connect_commands.html", answer.status, screen="connect", error=refused.error
        )
    told = answer.json
    draft = told["draft"]
    if draft is None and at != shown.STEPS[0][0]:
        return visit.redirect(shown.path_of_step(shown.STEPS[0][0]))
    typed = {name: text for name, text in visit.form.items() if name != "password"}
    before, after = shown.neighbours_of(at)
    missing = [] if draft is None else draft["missing"]
    return await visit.page(
        f"connect_{at}.html",
        status,
        screen="connect",
        steps=shown.steps_of(draft),
        at=at,
        before=PLACE + before if before else "",
        after=PLACE + after if after else "",
        path=PLACE + shown.path_of_step(at),
        told=told,
        draft=draft,
        missing=missing if at == "apply" else [each for each in missing if each["step"] == at],
        error=error,
        typed=typed,
        once=random_text(),
        **await _PARTS[at](visit, told, typed),
    )


async def _database_part(visit: Visit, told: Json, typed: Json) -> dict[str, Any]:  # noqa: ARG001
    allowed = [f"{each['host']}:{each['port']}" for each in told["allowed"]]
    return {
        "allowed": allowed,
        "given": {"database": "", "role": "", "population": "", **typed},
    }


async def _people_part(visit: Visit, told: Json, typed: Json) -> dict[str, Any]:
    draft, wanted = told["draft"], visit.query.get("find", "")
    usable = [each for each in draft["tables"] if each["why_left_out"] is None]
    tables, others = shown.find_tables(usable, wanted)
    return {
        "tables": shown.person_fields(draft, tables, typed),
        "others": others,
        "find": wanted,
        "left_out": [each for each in draft["tables"] if each["why_left_out"] is not None],
        "drawing": shown.drawing_of(draft),
    }


async def _limits_part(visit: Visit, told: Json, typed: Json) -> dict[str, Any]:
    wanted = visit.query.get("find", "")
    tables, others = shown.find_tables(shown.protected_tables(told["draft"]), wanted)
    return {"tables": list(shown.limit_fields(tables, typed)), "others": others, "find": wanted}


async def _columns_part(visit: Visit, told: Json, typed: Json) -> dict[str, Any]:
    tables = shown.protected_tables(told["draft"])
    table = _table_of(visit, tables)
    return {
        "tables": [{"name": each["name"], "open": shown.open_columns(each)} for each in tables],
        "table": table,
        "columns": [] if table is None else shown.column_fields(table, typed),
        "advice": [each for each in told["draft"]["advice"] if each["step"] == shown.ADVISED],
    }


def _table_of(visit: Visit, tables: list[Json]) -> Json | None:
    """Return the table that the page or its form names, or else the first one."""
    wanted = visit.form.get("table") or visit.query.get("table", "")
    first = tables[0] if tables else None
    return next((each for each in tables if each["name"] == wanted), first)


async def _budget_part(visit: Visit, told: Json, typed: Json) -> dict[str, Any]:  # noqa: ARG001
    budget = told["draft"]["budget"] or {"epsilon": "", "delta": ""}
    return {"given": {"epsilon": "", "delta": "", **budget, **typed}}


async def _apply_part(visit: Visit, told: Json, typed: Json) -> dict[str, Any]:  # noqa: ARG001
    if told["draft"]["missing"]:
        return {"changes": [], "problem": None}
    answer = await visit.try_api("GET", "/v1/setup/changes")
    if answer.status != 200:  # noqa: PLR2004 - it could not be applied either
        return {"changes": [], "problem": ApiRefused(answer).error}
    return {"changes": answer.json["changes"], "problem": None}


_PARTS = {
    "database": _database_part,
    "people": _people_part,
    "limits": _limits_part,
    "columns": _columns_part,
    "budget": _budget_part,
    "apply": _apply_part,
}


# ------------------------------------------------------------------ pages


@router.get("/connect", **shown_to(Role.OWNER))
async def database(visit: Visit) -> Response:
    """Show which database is connected, or ask for one."""
    return await _show(visit, "database")


@router.get("/connect/people", **shown_to(Role.OWNER))
async def people(visit: Visit) -> Response:
    """Ask which person each row of a table belongs to."""
    return await _show(visit, "people")


@router.get("/connect/limits", **shown_to(Role.OWNER))
async def limits(visit: Visit) -> Response:
    """Ask how many rows of a person count."""
    return await _show(visit, "limits")


@router.get("/connect/columns", **shown_to(Role.OWNER))
async def columns(visit: Visit) -> Response:
    """Ask for bounds and keys of columns, and where they are known from."""
    return await _show(visit, "columns")


@router.get("/connect/budget", **shown_to(Role.OWNER))
async def budget(visit: Visit) -> Response:
    """Ask for the budget, by its odds or its epsilon."""
    return await _show(visit, "budget")


@router.get("/connect/apply", **shown_to(Role.OWNER))
async def look(visit: Visit) -> Response:
    """Show what would be recorded, and the text of the project file."""
    return await _show(visit, "apply")


@router.get("/connect/tacit.toml", **shown_to(Role.OWNER))
async def download(visit: Visit) -> Response:
    """Return the sections that this setup adds to the project file."""
    answer = await visit.try_api("GET", DRAFT, query={"format": "toml"})
    if answer.status != 200:  # noqa: PLR2004 - there is no draft
        raise ApiRefused(answer)
    headers = {**HEADERS, "Content-Disposition": 'attachment; filename="tacit.toml"'}
    return Response(answer.body, headers=headers, media_type="application/toml")


@router.get("/connect/done", **shown_to(Role.OWNER))
async def show_recorded(visit: Visit) -> Response:
    """Say what was recorded, whether it can be asked about now, and what comes next."""
    applied = (await visit.api("GET", DRAFT))["applied"]
    if applied is None:
        return visit.redirect(shown.path_of_step(shown.STEPS[0][0]))
    catalog = await visit.api("GET", "/v1/datasets")
    served = {each["name"] for each in catalog["datasets"]}
    return await visit.page(
        "connect_done.html",
        screen="connect",
        applied=applied,
        is_served=served >= set(applied["tables"]),
    )


# ------------------------------------------------------------------ acts


async def _send(visit: Visit, at: str, path: str, body: Json | None) -> Response | None:
    """Send a part of a form to the API; return the page again if it is refused."""
    try:
        await visit.api("POST", path, body=body)
    except ApiRefused as refused:
        return await _show(visit, at, refused.status, refused.error)
    return None


async def _go_on(visit: Visit, at: str) -> Response:
    """Open the next step, or this one again if something in it is still missing."""
    draft = (await visit.api("GET", DRAFT))["draft"]
    is_open = draft is None or any(each["step"] == at for each in draft["missing"])
    return visit.redirect(shown.path_of_step(at) if is_open else shown.neighbours_of(at)[1])


@router.post("/connect", **shown_to(Role.OWNER))
async def connect(visit: Visit) -> Response:
    """Connect the database; its password is in no page and no address."""
    form = visit.form
    host, _, port = form.get("place", "").rpartition(":")
    named = {name: form.get(name, "").strip() for name in ("database", "role", "population")}
    body = {
        "host": host,
        "port": number_of(port),
        "password": form.get("password", ""),
        **named,
    }
    refused = await _send(visit, "database", "/v1/setup/databases", body)
    return refused or await _go_on(visit, "database")


@router.post("/connect/forget", **shown_to(Role.OWNER))
async def forget(visit: Visit) -> Response:
    """End the setup; nothing of it was written."""
    await visit.api("DELETE", DRAFT)
    return visit.redirect(shown.path_of_step(shown.STEPS[0][0]))


@router.post("/connect/people", **shown_to(Role.OWNER))
async def choose_people(visit: Visit) -> Response:
    """Declare the person of each table on the page whose fields changed."""
    draft = (await visit.api("GET", DRAFT))["draft"]
    for body in [] if draft is None else list(_ways(visit.form, draft)):
        refused = await _send(visit, "people", "/v1/setup/tables", body)
        if refused is not None:
            return refused
    return await _go_on(visit, "people")


def _ways(form: Mapping[str, str], draft: Json) -> Iterator[dict[str, Any]]:
    declared = {each["name"]: each["declared"] for each in draft["tables"]}
    parents = {
        shown.link_value(each["name"], column["name"]): (each["name"], column["name"])
        for each in draft["tables"]
        for column in each["columns"]
    }
    for number, name in _tables_of_form(form):
        column = form.get(f"column-{number}", "")
        means = form.get(f"means-{number}", shown.PERSON)
        known = declared.get(name)
        if (column, means if column else shown.PERSON) == shown.way_in_fields(known):
            continue
        body: dict[str, Any] = {"name": name}
        if not column:
            body["protect"] = False
        elif means in parents:
            parent, by = parents[means]
            body["link"] = {"column": column, "parent": parent, "parent_column": by}
        else:
            body["unit"] = column
        if column and known is None:
            body |= {"max_groups": FIRST_LIMIT, "max_rows": FIRST_LIMIT}
        yield body


def _tables_of_form(form: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the number and the name of each table of a form."""
    for field, name in form.items():
        if field.startswith("table-"):
            yield field.removeprefix("table-"), name


@router.post("/connect/limits", **shown_to(Role.OWNER))
async def choose_limits(visit: Visit) -> Response:
    """Declare the limits of each table on the page whose fields changed."""
    draft = (await visit.api("GET", DRAFT))["draft"]
    tables = (
        {} if draft is None else {each["name"]: each for each in shown.protected_tables(draft)}
    )
    for number, name in _tables_of_form(visit.form):
        texts = {each: visit.form.get(f"{each}-{number}", "").strip() for each in shown.LIMITS}
        if name not in tables or texts == shown.limit_texts(tables[name]["declared"]):
            continue
        body = {each: number_of(text) for each, text in texts.items()}
        body["most_rows_source"] = texts["most_rows_source"] or None
        sent = {"name": name} | {key: value for key, value in body.items() if value is not None}
        refused = await _send(visit, "limits", "/v1/setup/tables", sent)
        if refused is not None:
            return refused
    return await _go_on(visit, "limits")


@router.post("/connect/columns", **shown_to(Role.OWNER))
async def choose_columns(visit: Visit) -> Response:
    """Declare what changed about the columns of a table, and go on with the next table."""
    draft = (await visit.api("GET", DRAFT))["draft"]
    tables = [] if draft is None else shown.protected_tables(draft)
    table = _table_of(visit, tables)
    if table is None:
        return visit.redirect(shown.path_of_step("columns"))
    for body in list(_domains(visit.form, table)):
        refused = await _send(visit, "columns", "/v1/setup/columns", body)
        if refused is not None:
            return refused
    names = [each["name"] for each in tables]
    rest = names[names.index(table["name"]) + 1 :]
    if rest:
        return visit.redirect(f"{shown.path_of_step('columns')}?{query_of(table=rest[0])}")
    return await _go_on(visit, "columns")


def _domains(form: Mapping[str, str], table: Json) -> Iterator[dict[str, Any]]:
    """Yield what changed about columns; fields that are left empty declare nothing."""
    known = {each["name"]: each for each in table["columns"]}
    for field, name in form.items():
        number = field.removeprefix("column-")
        if number == field or name not in known:
            continue
        texts = {
            each: form.get(f"{each}-{number}", text).replace("\r\n", "\n").strip("\n")
            for each, text in shown.column_texts(known[name]).items()
        }
        found = [each for each in (texts["low"], texts["high"], texts["keys"]) if each]
        if not found or texts == shown.column_texts(known[name]):
            continue
        body: dict[str, Any] = {"table": table["name"], "column": name}
        body["provenance"] = texts["from"] or None
        if known[name]["takes"] == "keys":
            body["keys"] = [line for line in texts["keys"].split("\n") if line]
        else:
            body["bounds"] = [texts["low"], texts["high"]]
        yield body


@router.post("/connect/budget", **shown_to(Role.OWNER))
async def choose_budget(visit: Visit) -> Response:
    """Declare the budget, by its odds or its epsilon."""
    texts = {name: visit.form.get(name, "").strip() for name in ("epsilon", "delta")}
    body = {"epsilon": texts["epsilon"], "delta": texts["delta"] or 0}
    refused = await _send(visit, "budget", "/v1/setup/budget", body)
    return refused or visit.redirect(shown.path_of_step("budget"))


@router.post("/connect/apply", **shown_to(Role.OWNER))
async def apply(visit: Visit) -> Response:
    """Write the project file, and record the declarations."""

    async def act() -> str:
        await visit.api("POST", "/v1/setup/apply")
        return "/connect/done"

    try:
        return await act_once(visit, act)
    except ApiRefused as refused:
        return await _show(visit, "apply", refused.status, refused.error)
