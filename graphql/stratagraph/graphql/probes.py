"""The probes /healthz (the process answers) and /readyz (the service works as it should), without a credential."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def probes(version: str, failing: Callable[[], Awaitable[list[str]]]) -> list[Route]:
    """Return the routes of the probes.

    `failing` returns the names of the parts that keep the service from being ready. /readyz answers 200 without any,
    else 503 with their names.
    """

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "alive", "version": version})

    async def readyz(_: Request) -> Response:
        names = await failing()
        if names:
            return JSONResponse({"status": "not ready", "failing": names}, status_code=503)
        return JSONResponse({"status": "ready"})

    return [Route("/healthz", healthz), Route("/readyz", readyz)]
