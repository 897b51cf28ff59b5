"""Reports of unexpected errors for the log: types and places, never messages.

The message of an exception may quote a row, a document or a value, and these hold memories. Its type, its SQLSTATE and
the lines of code that it passed through say where the defect is, and hold none.
"""

from __future__ import annotations

import traceback
from typing import Any

MAX_CHAIN = 6  # exceptions of a chain of causes
MAX_FRAMES = 12  # innermost lines of code


def error_report(error: BaseException) -> dict[str, Any]:
    """Return the fields that a log event may have of an error.

    `error`: the types of the exception and of its causes, outermost first. `sqlstate`: where one of them has it.
    `at`: module and line of the innermost calls, outermost first.
    """
    chain = _chain(error)
    frames = [
        f"{frame.f_globals.get('__name__', '?')}:{line}"
        for one in reversed(chain)
        for frame, line in traceback.walk_tb(one.__traceback__)
    ]
    report: dict[str, Any] = {"error": " < ".join(type(one).__name__ for one in chain), "at": frames[-MAX_FRAMES:]}
    states = [state for one in chain if isinstance(state := getattr(one, "sqlstate", None), str)]
    if states:
        report["sqlstate"] = states[-1]
    return report


def _chain(error: BaseException) -> list[BaseException]:
    """Return the error and its causes; of a group of exceptions, the first one is taken for its cause."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < MAX_CHAIN:
        chain.append(current)
        if isinstance(current, BaseExceptionGroup):
            current = current.exceptions[0]
        elif current.__cause__ is not None or current.__suppress_context__:
            current = current.__cause__
        else:
            current = current.__context__
    return chain
