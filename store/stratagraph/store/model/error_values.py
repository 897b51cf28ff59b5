"""Values as error messages show them: shortened, or as the JSON type alone where the value may be a memory."""

from __future__ import annotations

MAX_SHOWN = 60  # characters of a value
MAX_MESSAGE = 1_500  # characters of a message; those of libraries quote what was sent
MAX_PART = 200  # characters of a part of a path, which may be a key of the client's


def shortened_message(message: str) -> str:
    """Return the message, cut to MAX_MESSAGE characters."""
    return message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…"


def shown(value: object) -> str:
    """Return the value's repr, shortened to MAX_SHOWN characters. Not for secrets or the content of memories.

    >>> shown("x" * 100)[-5:]
    "xxx…'"
    """
    if isinstance(value, str):
        return repr(value if len(value) <= MAX_SHOWN else value[: MAX_SHOWN - 1] + "…")
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def json_type(value: object) -> str:
    """Return the JSON type of a value with its article.

    >>> json_type({}), json_type(None), json_type(True), json_type(2.5)
    ('an object', 'null', 'a boolean', 'a number')
    """
    if value is None:
        return "null"
    for kind, name in ((bool, "a boolean"), (int | float, "a number"), (str, "a string"), (list | tuple, "a list")):
        if isinstance(value, kind):
            return name
    return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"
