"""A survey over HTTP: it serves the form and stores the randomised reports.

The form randomises each answer on the respondent's device, so that no true answer reaches the
server.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

from tacit.errors import InvalidValue, StoreFailed
from tacit.publish.survey.survey import Survey, form_of
from tacit.publish.survey.wave import Box

LONGEST_BODY = 2**16
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


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
    def form() -> Response:
        return Response(page, media_type="text/html", headers=HEADERS)

    @app.get("/health")
    def health() -> Response:
        return Response(status_code=204, headers=HEADERS)

    @app.post("/reports")
    async def reports(request: Request) -> Response:
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
        log_level="critical",
        access_log=False,
        server_header=False,
        lifespan="on",
    )


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
