"""Log events as a phrase with key=value: formatted lines on a terminal, JSON otherwise."""

from __future__ import annotations

import logging
import sys

import structlog


def set_up_logs(level: str) -> None:
    """Log events of `level` and above to standard error; standard output is for the answers of commands."""
    terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    # The driver warns of every retry, in another format. The mirror worker logs an outage itself, once.
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
