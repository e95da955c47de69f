"""A survey over HTTP: the form, and the box for its reports. No true answer comes here."""

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
    """The app of one wave; it closes the box when it ends.

    Guarantee: what is kept of a request is its reports and their id; no address, no header and
    no time. What is refused is kept nowhere.
    """

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        yield
        box.close()

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=living)
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
                return _refused("It is too long.", 413)
        try:
            await run_in_threadpool(box.put, *_read(survey, body))
        except InvalidValue as error:
            return _refused(str(error), 422)
        except (StoreFailed, OSError):
            return _refused("It could not be kept.", 503)
        return Response(status_code=204, headers=HEADERS)

    return app


def serve_survey(
    survey: Survey, box: Box, host: str, port: int, started: Callable[[], None]
) -> None:
    """Serve a wave until told to stop, without a log of requests."""
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
    """The id and the reports in a body; the refusal repeats nothing of it."""
    try:
        sent: Any = json.loads(body)
        fingerprint, id_, reports = sent["survey"], sent["id"], sent["reports"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidValue("It is not what the form of this survey sends.") from None
    if fingerprint != survey.fingerprint:
        raise InvalidValue("It is of another wave; open the form anew.")
    if not isinstance(id_, str):
        raise InvalidValue("An id is a text.")
    return id_, survey.check(reports)


def _refused(why: str, status: int) -> Response:
    return Response(why, status, headers=HEADERS, media_type="text/plain")
