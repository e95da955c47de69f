"""The views of the console, one module for each screen."""

from fastapi import APIRouter

from tacit.server.console.views import (
    account,
    answers,
    ask,
    assure,
    budget,
    catalogue,
    connect,
    decide,
    measure,
    publications,
    tokens,
)

VIEWS = (
    account,
    ask,
    answers,
    catalogue,
    budget,
    decide,
    publications,
    assure,
    tokens,
    connect,
    measure,
)


def all_routers() -> tuple[APIRouter, ...]:
    """Return the routers of all views."""
    return tuple(each.router for each in VIEWS)
