"""A survey over HTTP: it serves the form and stores the randomised reports.

The form randomises each answer on the respondent's device, so that no true answer reaches the
server. Reports are accepted from the form itself: a page of another site can neither send
reports with a visitor's browser nor show the form in a frame.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

from tacit.errors import InvalidValue, StoreFailed
from tacit.publish.survey.survey import Survey, form_of
from tacit.publish.survey.wave import Box
from tacit.server.connections import limited_protocol

LONGEST_BODY = 2**16
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
}
CONNECTIONS = 500
"""The most open connections of a survey."""


def survey_app(survey: Survey, box: Box) -> FastAPI:
    """Return the application for one wave of a survey; it closes the box when it ends.

    Guarantee: only the reports of a request and their id are stored; no address, no header and
    no time. Nothing is stored of a refused request.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        box.close()

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    page = form_of(survey)

    @app.get("/")
    async def form() -> Response:
        return Response(page, media_type="text/html", headers=HEADERS)

    @app.get("/health")
    async def health() -> Response:
        return Response(status_code=204, headers=HEADERS)

    @app.post("/reports")
    async def reports(request: Request) -> Response:
        if not is_same_origin(request.headers):
            return _refuse("The reply was sent by a page of another site.", 403)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                return _refuse("The reply is too large.", 413)
        try:
            await run_in_threadpool(box.put, *_read(survey, body))
        except InvalidValue as error:
            return _refuse(str(error), 422)
        except (StoreFailed, OSError):
            return _refuse("The reply could not be stored. Send it again.", 503)
        return Response(status_code=204, headers=HEADERS)

    return app


def serve_survey(
    survey: Survey, box: Box, host: str, port: int, started: Callable[[], None]
) -> None:
    """Serve a wave until the process is asked to stop, without a log of requests."""
    app = survey_app(survey, box)
    started()
    uvicorn.run(
        app,
        host=host,
        port=port,
        http=limited_protocol(CONNECTIONS),
        ws="none",
        log_level="critical",
        access_log=False,
        server_header=False,
        lifespan="on",
    )


def is_same_origin(headers: Mapping[str, str]) -> bool:
    """Return whether a request comes from our own form, or from no page at all.

    Browsers say from where a page sends a request, and a page cannot change that. Other
    programs can send any header, but do not act with the browser of a visitor.

    Example:
        >>> is_same_origin({"host": "here.example", "origin": "https://here.example"})
        True
        >>> is_same_origin({"host": "here.example", "origin": "https://evil.example"})
        False
        >>> is_same_origin({"origin": "null"})
        False
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin, host = headers.get("origin"), headers.get("host", "")
    return origin is None or (host != "" and origin.partition("://")[2] == host)


def _read(survey: Survey, body: bytes) -> tuple[str, dict[str, list[int]]]:
    """Return the id and the reports in a body; an error repeats nothing of the body."""
    try:
        sent: Any = json.loads(body)
        fingerprint, id_, reports = sent["survey"], sent["id"], sent["reports"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidValue(
            "The reply was not sent by the form of this survey. Open the form again."
        ) from None
    if fingerprint != survey.fingerprint:
        raise InvalidValue("The reply belongs to another wave. Open the form again.")
    if not isinstance(id_, str):
        raise InvalidValue("The id of a reply must be text. Open the form again.")
    return id_, survey.check(reports)


def _refuse(why: str, status: int) -> Response:
    return Response(why, status, headers=HEADERS, media_type="text/plain")
