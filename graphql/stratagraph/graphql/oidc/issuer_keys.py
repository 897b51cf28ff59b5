"""The issuer's public signing keys, fetched by discovery and cached."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import httpx
import jwt
import orjson

from stratagraph.graphql.oidc.claims import TokenRefused
from stratagraph.graphql.oidc.urls import is_safe_url
from stratagraph.store.event_log import get_logger

ANSWERS_S = 5.0  # seconds within which the issuer must return its keys
MAX_DOCUMENT_BYTES = 1 << 20
FRESH_S = 600.0  # seconds after which keys are fetched again; a withdrawn key is accepted no longer than this
STALE_S = 6 * 3600.0  # seconds for which cached keys are accepted while the issuer is unavailable
RETRY_S = 10.0  # minimum seconds between two requests to the issuer, even if tokens name unknown keys
# The key type and curve that each algorithm requires. None is symmetric: a public key must never serve as a secret.
_KEY_TYPES: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}
ALGORITHMS = tuple(_KEY_TYPES)
_log = get_logger(__name__)


class IssuerUnusable(Exception):
    """The issuer's keys cannot be fetched. The message is the reason for the log."""


@dataclass(frozen=True, slots=True)
class _Key:
    id: str | None
    algorithms: Mapping[str, jwt.PyJWK]


def _usable_keys(document: object) -> list[_Key]:
    """Return the public signing keys of a JWKS document, each with the algorithms it may verify.

    Private keys, encryption keys and malformed keys are skipped. Raises IssuerUnusable where no key is left.
    """
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise IssuerUnusable("the key set holds no keys")
    keys = []
    for entry in listed:
        if not isinstance(entry, dict) or "d" in entry or entry.get("use", "sig") != "sig":
            continue
        by_algorithm = {}
        for algorithm, (key_type, curve) in _KEY_TYPES.items():
            fits = entry.get("kty") == key_type and (curve is None or entry.get("crv") == curve)
            if fits and entry.get("alg", algorithm) == algorithm:
                try:
                    by_algorithm[algorithm] = jwt.PyJWK(entry, algorithm)
                except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError):
                    continue  # a malformed key verifies nothing
        id_ = entry.get("kid")
        if by_algorithm and (id_ is None or isinstance(id_, str)):
            keys.append(_Key(id_, by_algorithm))
    if not keys:
        raise IssuerUnusable("the key set holds no key of an accepted algorithm")
    return keys


@dataclass(slots=True)
class IssuerKeys:
    """The cached public keys of one issuer.

    One task at a time fetches the keys, at most every RETRY_S seconds. Other tasks use the cached keys until then.
    """

    issuer: str
    monotonic: Callable[[], float] = time.monotonic
    _tls: ssl.SSLContext = field(default_factory=httpx.create_ssl_context)
    _keys: Sequence[_Key] = ()
    _fetched: float = float("-inf")
    _tried: float = float("-inf")
    _down: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def key(self, id_: str | None, algorithm: str) -> jwt.PyJWK:
        """Return the key with the id `id_` for `algorithm`, or the only key for it where `id_` is None.

        Fetches the keys where the cache is older than FRESH_S seconds or has no such key. Raises TokenRefused if the
        issuer has no such key or several of them, or if no keys are cached and the issuer cannot be reached.
        """
        # While one task fetches, the others go on with the cached keys.
        if self.monotonic() - self._fetched >= FRESH_S and not (self._accepted() and self._lock.locked()):
            await self._refresh()
        found = self._find(id_, algorithm)
        if found is None:
            await self._refresh()
            found = self._find(id_, algorithm)
        if found is None:
            raise TokenRefused(
                "kid: the issuer has no such key" if self._accepted() else "kid: the issuer's keys are unavailable"
            )
        return found

    def _accepted(self) -> Sequence[_Key]:
        return self._keys if self.monotonic() - self._fetched < STALE_S else ()

    def _find(self, id_: str | None, algorithm: str) -> jwt.PyJWK | None:
        """Return the one matching key. None where several match, since the token does not say which one to use."""
        found = [
            key.algorithms[algorithm]
            for key in self._accepted()
            if algorithm in key.algorithms and (id_ is None or key.id == id_)
        ]
        return found[0] if len(found) == 1 else None

    async def _refresh(self) -> None:
        async with self._lock:
            if self.monotonic() - self._tried < RETRY_S:
                return
            self._tried = self.monotonic()
            try:
                async with asyncio.timeout(ANSWERS_S):
                    self._keys = await self._fetch()
            except (IssuerUnusable, httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
                if not self._down:  # an outage is logged once
                    reason = str(error) if isinstance(error, IssuerUnusable) else type(error).__name__
                    _log.warning("oidc issuer unusable", issuer=self.issuer, reason=reason, keys=len(self._accepted()))
                self._down = True
                return
            self._fetched = self.monotonic()
            if self._down:
                _log.info("oidc issuer usable again", issuer=self.issuer)
            self._down = False

    async def _fetch(self) -> list[_Key]:
        async with httpx.AsyncClient(verify=self._tls, timeout=ANSWERS_S) as http:
            discovered = await _fetch_document(http, self.issuer.rstrip("/") + "/.well-known/openid-configuration")
            if not isinstance(discovered, dict) or discovered.get("issuer") != self.issuer:
                raise IssuerUnusable("the discovery document names another issuer")
            address = discovered.get("jwks_uri")
            if not isinstance(address, str) or not is_safe_url(address):
                raise IssuerUnusable("the address of the key set is neither https nor loopback")
            return _usable_keys(await _fetch_document(http, address))


async def _fetch_document(http: httpx.AsyncClient, url: str) -> object:
    async with http.stream("GET", url, headers={"Accept": "application/json"}) as response:
        # Redirects are refused too, since the target of a redirect would choose the keys.
        if response.status_code != httpx.codes.OK:
            raise IssuerUnusable(f"status {response.status_code}")
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_DOCUMENT_BYTES:
                raise IssuerUnusable(f"a document is over {MAX_DOCUMENT_BYTES} bytes")
    try:
        document: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise IssuerUnusable("a document is not JSON") from None
    return document
