"""Authentication of requests. The credential fixes the caller's trust; a request cannot widen it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from starlette.requests import HTTPConnection, Request

from stratagraph.graphql.limits.client_networks import client_network
from stratagraph.graphql.limits.gate import Gate
from stratagraph.store.event_log import get_logger
from stratagraph.store.keys.credentials import PREFIX
from stratagraph.store.keys.rate_buckets import Rate
from stratagraph.store.model.errors import RateLimited, Unauthenticated
from stratagraph.store.model.trust import RESERVED_NAMES, SINGLE_USER, Trust

Authenticate = Callable[[str], Awaitable[Trust]]
SINGLE_USER_PARTY = "single-user"

FAILURES = Rate(per_second=10, burst=100)  # failed attempts of one client network at one process
_TOO_MANY = "More than {rate:g} requests a second from this network have no valid credential; wait, and correct it."
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A caller's trust, and its `party`: the name under which fair use counts all requests with the same credential."""

    trust: Trust
    party: str


class Authentication:
    """Turns the bearer token of a request into a credential.

    A token with the prefix of API keys is an API key; any other is verified as an OIDC token, where an issuer is
    configured. A request without a token is refused, or gets the trust of the single user in single-user mode. A wrong
    token is refused in single-user mode too, since its sender expects it to be checked.
    """

    def __init__(self, api_keys: Authenticate, *, oidc: Authenticate | None = None, single_user: bool) -> None:
        self._api_keys = api_keys
        self._oidc = oidc
        self._single_user = single_user
        self._failures = Gate(FAILURES)

    async def credential_of(self, request: Request) -> Credential:
        """Return the credential of the caller who sent `request`.

        Raises Unauthenticated for a missing, malformed, unknown, expired or revoked token, and StoreUnavailable if an
        API key cannot be looked up. Where more attempts from the client's network fail than FAILURES allows, raises
        RateLimited for them instead, late; valid credentials are not affected.
        """
        return await self.credential_in(request.headers.get("authorization"), request)

    async def credential_in(self, header: str | None, connection: HTTPConnection) -> Credential:
        """Return the credential in an Authorization header, which a client may also send as a message of a stream.

        Raises as `credential_of` does; `connection` tells the client's network.
        """
        try:
            return await self.checked(header)
        except Unauthenticated:
            network = client_network(connection.client.host) if connection.client is not None else ""
            try:
                self._failures.pass_(network, what=_TOO_MANY)
            except RateLimited as error:
                raise await self._failures.delayed(error) from None
            raise

    async def checked(self, header: str | None) -> Credential:
        """Return the credential in an Authorization header, without counting failures; None for no header.

        Raises Unauthenticated, and StoreUnavailable if an API key cannot be looked up.
        """
        if header is None:
            if self._single_user:
                return Credential(trust=SINGLE_USER, party=SINGLE_USER_PARTY)
            raise Unauthenticated
        scheme, _, token = header.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated
        if self._oidc is not None and not token.startswith(f"{PREFIX}_"):
            trust = await self._oidc(token)
            return Credential(trust=trust, party=f"{trust.tenant}\0{trust.actor}")
        trust = await self._api_keys(token)
        if trust.actor.startswith(RESERVED_NAMES):
            _log.warning("api key refused", reason=f"its name begins with one of {', '.join(RESERVED_NAMES)}")
            raise Unauthenticated
        return Credential(trust=trust, party=_key_id(token))


def _key_id(token: str) -> str:
    """Return the id of the API key in a valid token, in one spelling."""
    return f"key:{UUID(token.split('_', 2)[1])}"
