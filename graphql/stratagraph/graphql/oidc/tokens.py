"""Verification of access tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jwt

from stratagraph.graphql.oidc.claims import ClaimNames, TokenRefused, trust_of
from stratagraph.graphql.oidc.issuer_keys import ALGORITHMS, IssuerKeys
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.errors import Unauthenticated
from stratagraph.store.model.trust import Trust

MAX_TOKEN_BYTES = 16 << 10
LEEWAY_S = 30  # seconds by which the issuer's clock may differ from this server's
_log = get_logger(__name__)


class OidcTokens:
    """Turns the tokens of one issuer into trust. One per process; safe to call from many tasks."""

    def __init__(
        self,
        keys: IssuerKeys,
        *,
        audience: str,
        names: ClaimNames = ClaimNames(),  # noqa: B008 - frozen
    ) -> None:
        self._keys = keys
        self._audience = audience
        self._names = names

    async def authenticate(self, token: str) -> Trust:
        """Return the trust that the token grants.

        Raises Unauthenticated with the same message whatever is wrong with the token; the reason is logged.
        """
        try:
            return trust_of(await self._verified(token), self._names)
        except TokenRefused as refused:
            reason = str(refused)
        except jwt.PyJWTError as error:
            reason = type(error).__name__  # its message may quote the token
        _log.info("oidc token refused", reason=reason)
        raise Unauthenticated

    async def _verified(self, token: str) -> Mapping[str, Any]:
        if len(token) > MAX_TOKEN_BYTES or not token.isascii():
            raise TokenRefused(f"token: over {MAX_TOKEN_BYTES} bytes, or not ASCII")
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise TokenRefused(f"alg: not one of {', '.join(ALGORITHMS)}")
        key = await self._keys.key(header.get("kid"), algorithm)
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=self._audience,
            issuer=self._keys.issuer,
            leeway=LEEWAY_S,
            options={"require": ["exp", "iat", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
        )
        return claims
