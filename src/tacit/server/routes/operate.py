"""Whether the server runs, and what it can do: nothing of anybody's question."""

from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from tacit.server.role import Role
from tacit.server.route import new_router, open_to
from tacit.server.traffic import Traffic

router = new_router()


@router.get("/health", **open_to())
def health() -> dict[str, str]:
    """Whether the server runs."""
    return {"status": "ok"}


@router.get("/openapi.json", **open_to())
def openapi(request: Request) -> JSONResponse:
    """This interface, for machines."""
    told: dict[str, Any] = request.app.openapi()
    return JSONResponse(told)


@router.get("/metrics", **open_to(Role.OPERATOR))
def metrics(request: Request) -> Response:
    """Requests and their seconds, in the text format of Prometheus."""
    traffic: Traffic = request.app.state.traffic
    return Response(traffic.text(), media_type="text/plain; version=0.0.4")
