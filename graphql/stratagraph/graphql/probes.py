"""The probes, without a credential: /livez, /readyz (this process can answer now) and /healthz (all parts work)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from stratagraph.graphql.services import HealthReport

LIVE, READY, HEALTH = "/livez", "/readyz", "/healthz"


def probes(
    version: str, unready: Callable[[], Awaitable[list[str]]], health: Callable[[], Awaitable[HealthReport]]
) -> list[Route]:
    """Return the routes of the probes.

    `unready` returns what keeps this process from answering requests; /readyz answers 200 without any, else 503 with
    their names. `health` returns the state of all parts; /healthz answers 200 if it is ok, else 503.
    """

    async def livez(_: Request) -> Response:
        return JSONResponse({"status": "alive", "version": version})

    async def readyz(_: Request) -> Response:
        names = await unready()
        if names:
            return JSONResponse({"status": "not ready", "failing": names}, status_code=503)
        return JSONResponse({"status": "ready"})

    async def healthz(_: Request) -> Response:
        report = await health()
        checks = [{"name": one.name, "ok": one.ok, "detail": one.detail} for one in report.checks]
        body = {"status": "ok" if report.ok else "failing", "version": version, "checks": checks}
        return JSONResponse(body, status_code=200 if report.ok else 503)

    return [Route(LIVE, livez), Route(READY, readyz), Route(HEALTH, healthz)]
