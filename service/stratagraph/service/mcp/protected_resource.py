"""Where clients get a token for /mcp: the metadata of RFC 9728, and the challenge that points to them."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

WELL_KNOWN = "/.well-known/oauth-protected-resource"


class ProtectedResource:
    """Tells clients of /mcp which issuer's tokens are accepted, where one is configured.

    `audience` is what a token must be for. Where it is a URL, it is the address of /mcp, as the MCP specification wants
    it; else the address is that of the request, as a proxy passes it on.
    """

    def __init__(self, issuer: str | None, audience: str | None) -> None:
        self._issuer = issuer
        self._address = audience if audience is not None and _is_url(audience) else None

    def challenge(self, request: Request) -> str:
        """Return the header WWW-Authenticate of a refusal."""
        if self._issuer is None:
            return "Bearer"
        return f'Bearer resource_metadata="{_metadata_address(self._address_of(request))}"'

    async def metadata(self, request: Request) -> Response:
        """Answer a request for the metadata."""
        if self._issuer is None:
            message = "No OpenID Connect issuer is configured; /mcp takes API keys: `Authorization: Bearer sg_…`."
            return JSONResponse({"error": message}, status_code=404)
        return JSONResponse(
            {
                "resource": self._address_of(request),
                "authorization_servers": [self._issuer],
                "bearer_methods_supported": ["header"],
                "resource_name": "Stratagraph memory",
            },
            headers={"Cache-Control": "no-store"},
        )

    def _address_of(self, request: Request) -> str:
        if self._address is not None:
            return self._address
        headers = request.headers
        scheme = _first(headers, "x-forwarded-proto") or request.url.scheme
        prefix = _first(headers, "x-forwarded-prefix").rstrip("/")
        host = headers.get("host", "127.0.0.1")
        return _plain(f"{scheme}://{host}{prefix}/mcp")


def _metadata_address(resource: str) -> str:
    """Return the address that RFC 9728 makes of a resource's: the well-known path before its own."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path.rstrip('/')}"


def _first(headers: Headers, name: str) -> str:
    return headers.get(name, "").split(",")[0].strip()


def _plain(address: str) -> str:
    """Return the address without what would end the quoted string of a header."""
    return "".join(one for one in address if one.isascii() and one.isprintable() and one not in '"\\ ')


def _is_url(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in ("http", "https") and bool(parts.netloc) and not parts.query and not parts.fragment
