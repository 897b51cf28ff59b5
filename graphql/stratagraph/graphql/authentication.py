"""Who is calling. The credential decides; nothing in a request can add to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request

from stratagraph.store.enums import Access, Sensitivity
from stratagraph.store.errors import Unauthenticated
from stratagraph.store.trust import Trust

Authenticate = Callable[[str], Awaitable[Trust]]

SINGLE_USER = Trust(tenant="default", actor="single-user", access=Access.ADMIN, ceiling=Sensitivity.HYPER, scopes=None)


class Authentication:
    """Turns a request's bearer token into trust. Without one: refused, or the single user where there is just one.

    A token that is wrong is refused in single-user mode too: whoever presents one means to be judged by it.
    """

    def __init__(self, authenticate: Authenticate, *, single_user: bool) -> None:
        self._authenticate = authenticate
        self._single_user = single_user

    async def trust_of(self, request: Request) -> Trust:
        header = request.headers.get("authorization")
        if header is None:
            if self._single_user:
                return SINGLE_USER
            raise Unauthenticated
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Unauthenticated("The Authorization header must read: Bearer <token>.")
        return await self._authenticate(token.strip())
