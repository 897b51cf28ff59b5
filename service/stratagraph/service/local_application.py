"""The API for the user of this machine: the same application, asked by who may read the store's files anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stratagraph.graphql.app import build_app
from stratagraph.graphql.authentication import SINGLE_USER_PARTY, Authentication, Credential
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.limits.budgets import Budgets
from stratagraph.graphql.limits.options import FairUse
from stratagraph.graphql.schema import Schema
from stratagraph.graphql.telemetry import Telemetry
from stratagraph.service.local_socket import CODES, HAND_OVER, SCHEME
from stratagraph.service.runtime import Runtime
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.rate_buckets import Rate, RateBuckets
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput, Unauthenticated
from stratagraph.store.model.trust import SINGLE_USER, Trust

WAITING = 1_000  # operations that wait for their turn; further ones are refused


def local_application(
    runtime: Runtime,
    *,
    schema: Schema | None = None,
    telemetry: Telemetry | None = None,
    stopping: asyncio.Event | None = None,
    hand_over: Callable[[], None] | None = None,
) -> ASGIApp:
    """Return the ASGI application for the data directory's socket and for the caller's own process.

    A request has full access to the default tenant, or to the one that `Authorization: Tenant NAME` names, and no
    budget; operations run a few at a time, as for others. Streams end when `stopping` is set.
    `hand_over` is called when a service asks for the data directory; without it, the answer is that there is no such
    path.
    """
    options = replace(runtime.settings.fair_use, waiting=WAITING, requests=Rate(per_second=1e9, burst=1e9))
    app = build_app(
        runtime.services(),
        _LocalUser(runtime.directory),
        runtime.artifacts,
        runtime.span_intake,
        Admission(options, _Unmetered(RateBuckets(runtime.database, uuid4()), options)),
        runtime.exports,
        unready=runtime.health.unready,
        health=runtime.health.report_to_operator,
        loopback_only=False,
        stopping=stopping,
        schema=schema,
        telemetry=telemetry,
        routes=[_hand_over_route(hand_over)] if hand_over is not None else [],
    )
    return _TellCodes(app)


def _hand_over_route(hand_over: Callable[[], None]) -> Route:
    async def answer(_: Request) -> Response:
        hand_over()
        return Response(status_code=202)

    return Route(HAND_OVER, answer, methods=["POST"])


class _LocalUser(Authentication):
    """Gives each request the trust of the single user in the tenant that it names."""

    def __init__(self, directory: Directory) -> None:
        super().__init__(_refuse, single_user=True)
        self._directory = directory

    async def checked(self, header: str | None) -> Credential:
        """Return the credential for a tenant. Only the default one need not exist: else InvalidInput."""
        scheme, _, name = (header or f"{SCHEME} {SINGLE_USER.tenant}").partition(" ")
        if scheme != SCHEME:
            raise Unauthenticated
        tenant = unquote(name)
        if tenant != SINGLE_USER.tenant and await self._directory.tenant(tenant) is None:
            raise InvalidInput(
                f"tenant: there is no tenant {shown(tenant)}; check the spelling, or leave it out for the default one",
                path=["tenant"],
            )
        return Credential(trust=replace(SINGLE_USER, tenant=tenant), party=SINGLE_USER_PARTY)


async def _refuse(_: str) -> Trust:
    raise Unauthenticated


class _Unmetered(Budgets):
    """Budgets that are never used up."""

    def __init__(self, buckets: RateBuckets, options: FairUse) -> None:
        super().__init__(buckets)
        self._full = options.single_user_rate.burst

    async def spend(self, party: str, cost: float, rate: Rate) -> float:
        return self._full

    def owe(self, party: str, points: float, rate: Rate) -> None:
        """Let nothing be owed."""


class _TellCodes:
    """Adds the codes of all errors to the answers, for the exit status of commands.

    They include those of errors that are members of a result union, whether or not the document selects them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[CODES] = ",".join(scope["state"]["record"].codes)
            await send(message)

        await self._app(scope, receive, told if scope["type"] == "http" else send)
