"""OpenID Connect: a token signed by one trusted issuer says who is calling and what they may see.

Nothing is assumed: what a token does not say in so many words is not granted. To the caller every refusal reads the
same; the reason goes to the log, without anything the token holds.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import jwt
import orjson
import structlog
from pydantic import BaseModel, ConfigDict, Field

from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import Unauthenticated
from stratagraph.store.model.trust import Trust

ACTOR_PREFIX = "oidc:"  # no API key's actor begins with it, so neither can pass for the other
MAX_TOKEN_BYTES = 16 << 10
MAX_NAME = 256  # letters of a tenant, a subject or a scope
LEEWAY_S = 30  # by how much the issuer's clock may differ from ours
ANSWERS_S = 5.0  # the issuer must give its keys within this
MAX_DOCUMENT_BYTES = 1 << 20
FRESH_S = 600.0  # keys are asked for anew after this; what the issuer withdrew is believed no longer than that
STALE_S = 6 * 3600.0  # with the issuer down, its last keys are believed this long
RETRY_S = 10.0  # between two requests to the issuer, whatever unknown keys callers name
# An algorithm by the kind and curve of its key. None is symmetric: a public key must never serve as a shared secret.
_KINDS: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}
ALGORITHMS = tuple(_KINDS)
W = TypeVar("W", Access, Sensitivity)
_log = structlog.get_logger(__name__)


class ClaimNames(BaseModel):
    """What the issuer calls the claims that decide trust."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    tenant: str = Field(default="stratagraph_tenant", min_length=1)
    scopes: str = Field(default="stratagraph_scopes", min_length=1)
    ceiling: str = Field(default="stratagraph_ceiling", min_length=1)
    access: str = Field(default="stratagraph_access", min_length=1)


class Refused(Exception):
    """Why a token is not believed, in fixed words for the log."""


class IssuerUnusable(Exception):
    """Why the issuer's keys cannot be had, in fixed words for the log."""


def is_safe_url(url: str) -> bool:
    """Whether keys may be fetched from there: by https, or from this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def trust_of(claims: Mapping[str, Any], names: ClaimNames) -> Trust:
    """The trust that a verified token's claims spell out, and no more. Raises Refused.

    A tenant must be named. Without a claim for them: no scopes, the lowest ceiling, reading only.
    """
    return Trust(
        tenant=_name(claims.get(names.tenant), "tenant"),
        actor=ACTOR_PREFIX + _name(claims.get("sub"), "sub"),
        access=_word(claims, names.access, "access", Access, Access.READ),
        ceiling=_word(claims, names.ceiling, "ceiling", Sensitivity, Sensitivity.PUBLIC),
        scopes=_scopes(claims.get(names.scopes, [])),
    )


def _name(value: object, what: str) -> str:
    # Printable: neither NUL nor half a surrogate pair, which the database refuses, nor the audit's separator.
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME or not value.isprintable():
        raise Refused(f"{what}: missing or not a name")
    return value


def _word(claims: Mapping[str, Any], claim: str, what: str, words: type[W], otherwise: W) -> W:
    if claim not in claims:
        return otherwise
    for word in words:
        if claims[claim] == word.label:
            return word
    raise Refused(f"{what}: not a word we know")


def _scopes(said: object) -> frozenset[str] | None:
    """None is all. The empty scope is never granted by name: only `*` may write there."""
    if isinstance(said, str):
        said = [part for part in said.split(" ") if part]
    if not isinstance(said, list):
        raise Refused("scopes: neither a list nor a string")
    scopes = frozenset(_name(scope, "scopes") for scope in said)
    return None if "*" in scopes else scopes


@dataclass(frozen=True, slots=True)
class _Key:
    id: str | None
    algorithms: Mapping[str, jwt.PyJWK]


def _usable_keys(document: object) -> list[_Key]:
    """The public signing keys of a JWKS, each bound to the algorithms it may verify; others are passed over."""
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise IssuerUnusable("the key set holds no keys")
    keys = []
    for entry in listed:
        if not isinstance(entry, dict) or "d" in entry or entry.get("use", "sig") != "sig":
            continue
        bound = {}
        for algorithm, (kind, curve) in _KINDS.items():
            fits = entry.get("kty") == kind and (curve is None or entry.get("crv") == curve)
            if fits and entry.get("alg", algorithm) == algorithm:
                try:
                    bound[algorithm] = jwt.PyJWK(entry, algorithm)
                except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError):
                    continue  # a key that makes no sense verifies nothing
        id_ = entry.get("kid")
        if bound and (id_ is None or isinstance(id_, str)):
            keys.append(_Key(id_, bound))
    if not keys:
        raise IssuerUnusable("the key set holds no key of an algorithm we accept")
    return keys


@dataclass(slots=True)
class IssuerKeys:
    """The issuer's public keys, remembered. One caller at a time asks the issuer, and at most every RETRY_S."""

    issuer: str
    monotonic: Callable[[], float] = time.monotonic
    _tls: ssl.SSLContext = field(default_factory=httpx.create_ssl_context)
    _keys: Sequence[_Key] = ()
    _fetched: float = float("-inf")
    _tried: float = float("-inf")
    _down: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def key(self, id_: str | None, algorithm: str) -> jwt.PyJWK:
        """The key of that name for that algorithm. Raises Refused if the issuer has none, or cannot be asked."""
        # While one caller asks the issuer anew, the others go on with the keys there are.
        if self.monotonic() - self._fetched >= FRESH_S and not (self._believed() and self._lock.locked()):
            await self._refresh()
        found = self._find(id_, algorithm)
        if found is None:
            await self._refresh()
            found = self._find(id_, algorithm)
        if found is None:
            raise Refused("key: the issuer has none of that name" if self._believed() else "key: no keys to check with")
        return found

    def _believed(self) -> Sequence[_Key]:
        return self._keys if self.monotonic() - self._fetched < STALE_S else ()

    def _find(self, id_: str | None, algorithm: str) -> jwt.PyJWK | None:
        """A token that names no key is checked with the only one there is; two of one name are none."""
        found = [
            key.algorithms[algorithm]
            for key in self._believed()
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
                if not self._down:  # an outage is told once
                    reason = str(error) if isinstance(error, IssuerUnusable) else type(error).__name__
                    _log.warning("oidc issuer unusable", issuer=self.issuer, reason=reason, keys=len(self._believed()))
                self._down = True
                return
            self._fetched = self.monotonic()
            if self._down:
                _log.info("oidc issuer usable again", issuer=self.issuer)
            self._down = False

    async def _fetch(self) -> list[_Key]:
        async with httpx.AsyncClient(verify=self._tls, timeout=ANSWERS_S) as http:
            discovered = await _document(http, self.issuer.rstrip("/") + "/.well-known/openid-configuration")
            if not isinstance(discovered, dict) or discovered.get("issuer") != self.issuer:
                raise IssuerUnusable("the discovery document is another issuer's")
            address = discovered.get("jwks_uri")
            if not isinstance(address, str) or not is_safe_url(address):
                raise IssuerUnusable("the key set's address is neither https nor on this machine")
            return _usable_keys(await _document(http, address))


async def _document(http: httpx.AsyncClient, url: str) -> object:
    async with http.stream("GET", url, headers={"Accept": "application/json"}) as response:
        if response.status_code != httpx.codes.OK:  # a redirect too: whoever may redirect us chooses our keys
            raise IssuerUnusable(f"status {response.status_code}")
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_DOCUMENT_BYTES:
                raise IssuerUnusable("a document is too long")
    try:
        document: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise IssuerUnusable("a document is not JSON") from None
    return document


class OidcTokens:
    """Turns one issuer's tokens into trust. One per process; safe to call from many tasks."""

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
        """Raises Unauthenticated, in the same words whatever is wrong with the token."""
        try:
            return trust_of(await self._verified(token), self._names)
        except Refused as refused:
            reason = str(refused)
        except jwt.PyJWTError as error:
            reason = type(error).__name__  # its words may quote the token
        _log.info("oidc token refused", reason=reason)
        raise Unauthenticated

    async def _verified(self, token: str) -> Mapping[str, Any]:
        if len(token) > MAX_TOKEN_BYTES or not token.isascii():
            raise Refused("token: too long, or not ASCII")
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise Refused("alg: not one we accept")
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
