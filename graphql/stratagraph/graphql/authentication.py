"""Who is calling. The credential decides; nothing in a request can add to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog
from starlette.requests import Request

from stratagraph.graphql.oidc import ACTOR_PREFIX
from stratagraph.store.keys.credentials import PREFIX
from stratagraph.store.model.errors import Unauthenticated
from stratagraph.store.model.trust import SINGLE_USER, Trust

Authenticate = Callable[[str], Awaitable[Trust]]

_log = structlog.get_logger(__name__)


class Authentication:
    """Turns a request's bearer token into trust. Without one: refused, or the single user where there is just one.

    A token is an API key by its prefix; any other is the OIDC issuer's, where one is trusted. One that is wrong is
    refused in single-user mode too: whoever presents one means to be judged by it.
    """

    def __init__(self, api_keys: Authenticate, *, oidc: Authenticate | None = None, single_user: bool) -> None:
        self._api_keys = api_keys
        self._oidc = oidc
        self._single_user = single_user

    async def trust_of(self, request: Request) -> Trust:
        header = request.headers.get("authorization")
        if header is None:
            if self._single_user:
                return SINGLE_USER
            raise Unauthenticated
        scheme, _, token = header.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated
        if self._oidc is not None and not token.startswith(f"{PREFIX}_"):
            return await self._oidc(token)
        trust = await self._api_keys(token)
        if trust.actor.startswith(ACTOR_PREFIX):
            _log.warning("api key refused", reason=f"its name begins with {ACTOR_PREFIX}, as only OIDC actors' do")
            raise Unauthenticated
        return trust
