"""Which URLs keys may be fetched from, and which hosts are this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_safe_url(url: str) -> bool:
    """Return whether keys may be fetched from `url`: over HTTPS, or over HTTP from the loopback interface.

    A URL with a user name or a fragment is refused.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))


def is_loopback(host: str) -> bool:
    """Return whether `host` is a loopback address, or the name localhost."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
