"""Credentials recognised in a text by their form, and masked (docs/specification.md, Capture). No I/O.

The forms are those of detect-secrets, and some that it does not know. None is found by its entropy or by a keyword,
since ids and hashes are everywhere. A text without such a form is returned as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

MASK = "[secret]"
_DETECTORS = (
    "aws",
    "azure_storage_key",
    "discord",
    "github_token",
    "gitlab_token",
    "mailchimp",
    "npm",
    "openai",
    "pypi_token",
    "sendgrid",
    "slack",
    "square_oauth",
    "stripe",
    "telegram_token",
    "twilio",
)
_FORMS = (
    # The whole block of a private key, or its rest where the end is missing.
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    r"PuTTY-User-Key-File-[23]:.*?(?:Private-MAC: *[0-9a-f]+|\Z)",
    r"eyJ[\w-]{10,}={0,2}\.eyJ[\w-]{10,}={0,2}\.[\w-]*",  # a JSON Web Token, with its signature
    r"sk-(?:ant|proj|svcacct|admin|or)-[\w-]{20,}",  # Anthropic, OpenAI, OpenRouter
    r"AIza[\w-]{35}",  # Google
    r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    r"hf_[A-Za-z0-9]{34}",  # Hugging Face
    r"npm_[A-Za-z0-9]{36}",
    r"(?:r|s)k_(?:live|test)_[0-9A-Za-z]{24,}",  # Stripe
    r"sg_[0-9a-f]{32}_[\w-]{43}",  # an API key of Stratagraph
)
# The user information of a URL: with a password, or alone in a web address, where it is a token.
_USER_INFO = re.compile(
    r"(?<=://)(?:(?<=http://)|(?<=https://)|(?=[^\s/?#\"'<>@:]*:))(?!\[secret\])"
    r"(?P<info>[^\s/?#\"'<>]{1,512})@"
)
_PLACEHOLDER = re.compile(
    r"(?:[^:]*:)?(?:\$[A-Z_][A-Z0-9_]*|\$?\{[^{}]*\}|\$\([^()]*\)|%\(\w+\)s|%s|%[A-Z_]+%|\*+|x+|\.+|…|)"
)


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    from importlib import import_module  # the plugins take 0.1 s to import, and most commands mask nothing

    forms = [re.compile(form, re.DOTALL) for form in _FORMS]
    for name in _DETECTORS:
        module = import_module(f"detect_secrets.plugins.{name}")
        forms += [
            pattern
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__
            for pattern in getattr(value, "denylist", ())
        ]
    return tuple(forms)


def masked_text(text: str) -> tuple[str, int]:
    """Return the text with MASK in place of each secret, and the number of secrets.

    >>> masked_text("postgres://app:s3cret@db/main")
    ('postgres://[secret]@db/main', 1)
    """
    spans = sorted(_spans(text))
    if not spans:
        return text, 0
    parts: list[str] = []
    end = found = 0
    for start, stop in spans:
        if start >= end:
            parts += [text[end:start], MASK]
            found += 1
        end = max(end, stop)
    return "".join([*parts, text[end:]]), found


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for form in _forms():
        for match in form.finditer(text):
            start, end = match.span()
            # Checked here, because a pattern that begins with a look-behind is searched ten times slower.
            if not (text[max(0, start - 1) : start].isalnum() or text[end : end + 1].isalnum()):
                yield start, end
    if "://" in text:
        for match in _USER_INFO.finditer(text):
            if not _PLACEHOLDER.fullmatch(match["info"]):
                yield match.span("info")


def hold_secrets(*values: Any) -> bool:
    """Return whether a secret may be in one of the JSON values: none of them needs to be masked if this is false.

    All texts are searched at once, because each search costs about as much for many short texts as for one.
    """
    # No form but that of a private key goes on after the end of a line, and that one is found from its beginning.
    return next(_spans("\n".join(_texts(values))), None) is not None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def masked(value: Any) -> tuple[Any, int]:
    """Return a JSON value with MASK in place of each secret in its texts and keys, and the number of secrets."""
    if isinstance(value, str):
        return masked_text(value)
    if isinstance(value, dict):
        pairs = [(masked_text(key), masked(item)) for key, item in value.items()]
        found = sum(key[1] + item[1] for key, item in pairs)
        return ({key[0]: item[0] for key, item in pairs}, found) if found else (value, 0)
    if isinstance(value, list | tuple):
        items = [masked(item) for item in value]
        found = sum(item[1] for item in items)
        return (type(value)(item[0] for item in items), found) if found else (value, 0)
    return value, 0
