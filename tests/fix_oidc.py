"""An OpenID Connect issuer on loopback: discovery and key set over real HTTP, tokens signed with real keys."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "stratagraph"
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@cache
def rsa_key(name: str) -> rsa.RSAPrivateKey:
    """Return the RSA key of that name. It is made once in a test session, since making one is slow."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_jwk(key: PrivateKey, **more: str) -> dict[str, Any]:
    """Return the public part of a key as a JSON Web Key with the fields of `more`."""
    public: Any = key.public_key()
    if isinstance(key, rsa.RSAPrivateKey):
        jwk = RSAAlgorithm.to_jwk(public, as_dict=True)
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        jwk = ECAlgorithm.to_jwk(public, as_dict=True)
    else:
        jwk = OKPAlgorithm.to_jwk(public, as_dict=True)
    return {**jwk, "use": "sig", **more}


def segment(value: Any) -> str:
    """Return a value or bytes as a segment of a token, in unpadded base64url."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def signed_by_secret(claims: dict[str, Any], secret: bytes, **header: Any) -> str:
    """Make an HS256 token with a public key as the secret, as an attacker would; PyJWT refuses to make one."""
    signing_input = f"{segment({'alg': 'HS256', 'typ': 'JWT', **header})}.{segment(claims)}"
    return f"{signing_input}.{segment(hmac.digest(secret, signing_input.encode(), hashlib.sha256))}"


@dataclass
class Issuer:
    """An issuer. `keys` are its published signing keys by name; `documents` lists the paths that were requested."""

    keys: dict[str, PrivateKey] = field(default_factory=dict)
    extra: list[dict[str, Any]] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    discovery: dict[str, Any] = field(default_factory=dict)
    redirect: str | None = None
    _server: ThreadingHTTPServer | None = None
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def up(self) -> None:
        """Start answering, at the same address as before."""
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.documents.append(self.path)
                document = issuer.document(self.path)
                self.send_response(302 if issuer.redirect else 200 if document is not None else 404)
                if issuer.redirect:
                    self.send_header("Location", issuer.redirect)
                self.end_headers()
                self.wfile.write(json.dumps(document).encode())

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def down(self) -> None:
        """Stop answering."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def document(self, path: str) -> dict[str, Any] | None:
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.discovery}
        if path == "/keys":
            return {"keys": [*(public_jwk(key, kid=name) for name, key in self.keys.items()), *self.extra]}
        return None

    def claims(self, **claims: Any) -> dict[str, Any]:
        """Return the claims of a valid token, overridden by `claims`; a claim that is None is left out."""
        now = int(time.time())
        whole = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "agent-7",
            "iat": now,
            "nbf": now,
            "exp": now + 300,
            "stratagraph_tenant": "acme",
        }
        return {name: value for name, value in (whole | claims).items() if value is not None}

    def token(
        self, *, kid: str | None = "rsa", algorithm: str = "RS256", key: PrivateKey | None = None, **claims: Any
    ) -> str:
        """Make a token signed with `key`; by default, with the issuer's own key named `kid`."""
        signing = key or self.keys[kid or "rsa"]
        headers = {"kid": kid} if kid is not None else None
        return jwt.encode(self.claims(**claims), signing, algorithm=algorithm, headers=headers)


@contextmanager
def running_issuer() -> Iterator[Issuer]:
    """Run an issuer with one RSA key named `rsa` during the block."""
    made = Issuer(keys={"rsa": rsa_key("first")})
    made.up()
    try:
        yield made
    finally:
        made.down()
