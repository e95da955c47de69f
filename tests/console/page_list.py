"""All pages of the console, found by the router's own routes, and how each one is opened.

A page that is added to the console and is not in `PAGES` fails `test_every_page_is_listed` in
`test_hostile_data.py`: write there who opens it and by which address.
"""

from dataclasses import dataclass

from fastapi import FastAPI

__all__ = ["NOT_PAGES", "PAGES", "QUERIES", "PageOf", "get_routes"]

NOT_PAGES = {
    "/": "it opens the first screen",
    "/ask/{form}": "it opens Ask",
    "/sign-in/provider": "it opens the page of the provider",
    "/signed-in": "it opens the page that was wanted",
    "/ask/answer.{kind}": "a file",
    "/answers/{release_key}/certificate": "a file",
    "/assure/{population}/{document}": "a file",
    "/budget/history.csv": "a file",
    "/decide/count": "a number in the menu of each page of an owner",
    "/static/{name}": "files of the console",
    "/connect/tacit.toml": "a file",
    **{
        f"/connect/{step}": "a step of a setup, which needs a database: test_connect.py"
        for step in ("people", "limits", "columns", "budget", "apply", "done")
    },
}
"""What is sent for GET and is no page, or is opened by another test, with why."""

QUERIES = (
    *("sql", "error", "epsilon", "delta", "population", "find", "text", "after", "done"),
    *("change", "name", "next", "code", "at", "table", "x"),
)
"""Names of parts of addresses that pages read, and one that none reads."""


@dataclass(frozen=True, slots=True)
class PageOf:
    """Who opens a page, its address with facts in braces, and its status."""

    who: str
    address: str
    status: int = 200
    action: str = ""
    """The main action: the name of a button, field or link that is above the fold."""


PAGES = {
    "/sign-in": PageOf("", "sign-in", action="Sign in"),
    "/entry": PageOf("", "entry?code=x", 403, action="Sign in with a token"),
    "/ask": PageOf("ann", "ask?{asked}", action="Open the answer, free"),
    "/answers": PageOf("olga", "answers", action="Search"),
    "/answers/{receipt}": PageOf("ann", "answers/{receipt}", action="Certificate"),
    "/catalogue": PageOf("ann", "catalogue", action="visits"),
    "/budget": PageOf("olga", "budget?population={population}", action="Freeze…"),
    "/budget/freeze": PageOf(
        "olga", "budget/freeze?population={population}", action="Freeze now"
    ),
    "/decide": PageOf("olga", "decide", action="Issue a token"),
    "/decide/declarations": PageOf(
        "olga", "decide/declarations?population={population}", action="Go back"
    ),
    "/decide/token": PageOf("olga", "decide/token", action="Issue the token"),
    "/decide/token/issued": PageOf(
        "olga", "decide/token/issued?at=x", 410, action="Go to the tokens"
    ),
    "/publications": PageOf("ann", "publications", action="weekly"),
    "/assure": PageOf("olga", "assure?population={population}", action="Run the attack"),
    "/connect": PageOf("olga", "connect", 403, action="Decide"),
    "/connect/measure": PageOf("olga", "connect/measure", 403, action="Decide"),
    "an error": PageOf("ann", "publications?name=nothing", 404, action="Ask"),
    "another role": PageOf("ann", "decide", 403, action="Ask"),
}
"""The pages by the patterns of their routes, and pages that stand for any route."""


def get_routes(console: FastAPI) -> set[str]:
    """Return the patterns of all routes of the console that answer GET."""
    found: set[str] = set()
    for route in console.routes:
        inner = getattr(route, "original_router", None)  # a router that was included
        for each in inner.routes if inner is not None else [route]:
            if "GET" in (getattr(each, "methods", None) or ()):
                found.add(each.path)  # type: ignore[attr-defined]
    return found
