"""The events that all rooms log: of structlog in our own programs, of the standard library's logging in others.

A program that opens a store within its own process (`stratagraph.open`) has its own log. There, events go to loggers of
the standard library named after our modules, which print nothing unless the program sets them up.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog

from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.shown_text import shown_text

MAX_VALUE = 1_000  # characters of a value
# Their warnings, such as those of a lost connection, would be printed in a program that has not set up logging.
_LIBRARIES = ("neo4j", "sqlalchemy", "uvicorn")
logging.getLogger("stratagraph").addHandler(logging.NullHandler())  # or warnings would be printed without any set-up


class _State:
    """Where the events of this process go."""

    is_our_program = False
    guests = 0  # stores that are open in a program that is not ours


class EventLog:
    """The log of one module. Values are bounded and escaped, and exceptions described by their types alone."""

    def __init__(self, name: str, bound: Mapping[str, Any] | None = None) -> None:
        self._name = name
        self._bound = dict(bound or {})
        self._ours = structlog.get_logger(name)

    def bind(self, **fields: Any) -> EventLog:
        """Return a log whose events have these fields too."""
        return EventLog(self._name, self._bound | fields)

    def log(self, level: int, event: str, **fields: Any) -> None:
        """Log an event, a phrase, with its fields."""
        fields = self._bound | fields
        if not _State.guests:
            self._ours.log(level, event, **fields)
            return
        theirs = logging.getLogger(self._name)
        if theirs.isEnabledFor(level):
            described = bounded(structlog.contextvars.get_contextvars() | fields)
            theirs.log(level, "%s", " ".join([event, *(f"{name}={value!r}" for name, value in described.items())]))

    def info(self, event: str, **fields: Any) -> None:
        self.log(logging.INFO, event, **fields)

    def warning(self, event: str, **fields: Any) -> None:
        self.log(logging.WARNING, event, **fields)

    def error(self, event: str, **fields: Any) -> None:
        self.log(logging.ERROR, event, **fields)


def get_logger(name: str) -> EventLog:
    """Return the log of the module `name`."""
    return EventLog(name)


def in_our_program() -> None:
    """Let events go to structlog for good: it has been set up for them."""
    _State.is_our_program = True


@contextmanager
def as_a_guest() -> Iterator[None]:
    """Log to the standard library's loggers during the block, unless this is a program of ours."""
    if _State.is_our_program:
        yield
        return
    silent = logging.NullHandler()
    for name in _LIBRARIES:
        logging.getLogger(name).addHandler(silent)
    _State.guests += 1
    try:
        yield
    finally:
        _State.guests -= 1
        for name in _LIBRARIES:
            logging.getLogger(name).removeHandler(silent)


def bounded(event: Mapping[str, Any]) -> dict[str, Any]:
    """Bound and escape the values of an event, so that each event is one line; describe an exception by its type."""
    event = dict(event)
    error = event.pop("exc_info", None)
    if error:
        error = sys.exc_info()[1] if error is True else error[1] if isinstance(error, tuple) else error
        if isinstance(error, BaseException):
            event.update(error_report(error))
    return {key: _printable(value) for key, value in event.items()}


def _printable(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {_text(str(key)): _printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_printable(item) for item in value]
    # The text of other objects may quote anything.
    return _text(str(value)) if isinstance(value, str | UUID | datetime) else type(value).__name__


def _text(value: str) -> str:
    """Return the text cut to MAX_VALUE characters, with control and other invisible characters as escapes.

    What no escape stands for, such as runs of variation selectors, is removed as on a terminal.
    """
    value = value if len(value) <= MAX_VALUE else value[: MAX_VALUE - 1] + "…"
    if not value.isprintable():
        value = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in value)
    return shown_text(value)
