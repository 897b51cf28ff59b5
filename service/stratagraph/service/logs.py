"""The log: one event a line, a phrase with key=value; formatted on a terminal, JSON otherwise.

Memories never reach it. Our own events have ids, counts and codes. Of the events of libraries, whose messages quote
statements, values and documents, and of exceptions that nobody handles, only the place in the code and the types of the
exceptions are written.
"""

from __future__ import annotations

import logging
import sys
import threading
from types import TracebackType

import structlog

from stratagraph.store.event_log import bounded, get_logger, in_our_program
from stratagraph.store.model.error_reports import error_report

_log = get_logger(__name__)


def set_up_logs(level: str, process: str | None = None) -> None:
    """Log events of `level` and above to standard error; standard output is for the answers of commands.

    Where a service has several processes, each event has the name of its `process`.
    """
    in_our_program()
    terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([_of_process(process)] if process is not None else []),
            _bounded,
            structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),  # one write a line: several processes share it
        cache_logger_on_first_use=True,
    )
    logging.raiseExceptions = False  # or the report of an event that cannot be logged would quote its arguments
    logging.captureWarnings(capture=True)
    # The driver warns of every retry. The mirror worker logs an outage itself, once.
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)
    logging.basicConfig(level=logging.WARNING, handlers=[LibraryEvents()], force=True)
    sys.excepthook = _log_unhandled
    sys.unraisablehook = lambda unraisable: _log_defect(unraisable.exc_value)
    threading.excepthook = lambda thrown: _log_defect(thrown.exc_value)


def _of_process(name: str) -> structlog.typing.Processor:
    def add_process(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        event["process"] = name
        return event

    return add_process


class LibraryEvents(logging.Handler):
    """Logs events of the standard library's logging without their message."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        level = next(
            (at for at in (logging.ERROR, logging.WARNING, logging.INFO) if record.levelno >= at), logging.DEBUG
        )
        _log.log(
            level,
            "event of a library",
            library=record.name,
            line=f"{record.module}:{record.lineno}",
            **(error_report(error) if error is not None else {}),
        )


def _log_unhandled(_: type[BaseException], error: BaseException, __: TracebackType | None) -> None:
    if not isinstance(error, KeyboardInterrupt):
        _log_defect(error)


def _log_defect(error: BaseException | None) -> None:
    _log.error("unhandled exception", **(error_report(error) if error is not None else {}))


def _bounded(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return bounded(event)
