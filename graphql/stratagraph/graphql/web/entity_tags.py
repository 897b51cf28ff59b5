"""Entity tags: which answer a client has already, and the answer 304 where that is still the same (RFC 9110)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.responses import Response

NOT_MODIFIED = 304
_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


def entity_tag(data: bytes) -> str:
    """Return the weak entity tag of an answer with these bytes: answers with one tag say the same.

    >>> entity_tag(b"{}")
    'W/"44136fa355b3678a1146ad16f7e8649e"'
    """
    return f'W/"{hashlib.sha256(data).hexdigest()[:32]}"'


def let_revalidate(response: Response, request: Headers, data: bytes | None) -> None:
    """Say that a client may keep the answer to a GET, of which `data` is what matters, and must ask before it uses it.

    Where the client has that answer already, the status becomes 304. An answer without `data` is not to be kept.
    """
    response.headers["Vary"] = "Accept, Authorization"
    if data is None:
        response.headers["Cache-Control"] = "no-store"
        return
    tag = entity_tag(data)
    response.headers.update({"Cache-Control": "private, no-cache", "ETag": tag})
    if is_known(tag, request.getlist("if-none-match")):
        response.status_code = NOT_MODIFIED


def is_known(tag: str, if_none_match: Iterable[str]) -> bool:
    """Return whether the headers If-None-Match name the entity tag, compared weakly.

    >>> is_known('"a"', ['"b", W/"a"']), is_known('W/"a"', ["*"]), is_known('"a"', ["a"]), is_known('"a"', [])
    (True, True, False, False)
    """
    opaque = tag.removeprefix("W/")
    return any(value.strip() == "*" or opaque in _TAG.findall(value) for value in if_none_match)
