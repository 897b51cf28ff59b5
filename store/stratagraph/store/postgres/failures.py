"""The translation of driver errors to errors of the store.

Code outside the store does not import SQLAlchemy or psycopg. It handles `StoreUnavailable` and its subclasses, which a
retry may cure, and `ConditionsOverlap`. Every other driver error is a defect and becomes `StatementFailed`. No message
quotes the driver's, because drivers quote rows, and rows hold memories.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import errors as states
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from stratagraph.store.model.errors import (
    ConditionsOverlap,
    KeyCollision,
    OutOfConnections,
    StatementFailed,
    StatementTimedOut,
    StoreUnavailable,
    WriteCollision,
)

POOL_WAIT_S = 5.0  # seconds to wait for a free connection of a pool

# SQLSTATE classes and codes of errors that a later attempt may not repeat: connection (08), read-only standby (25006),
# a transaction that waited or took too long (25P03, 25P04), transaction rollback (40), insufficient resources (53),
# lock timeout (55P03), operator intervention (57).
_TRANSIENT = ("08", "25006", "25P03", "25P04", "40", "53", "55P03", "57")
# What is said instead of "cannot be reached" where the database answered.
_TRANSIENT_REASONS = {
    "25006": "The database accepts no writes now: it is a standby or read-only. Try again shortly.",
    "25P03": "The database ended a transaction that waited too long for this process; try again shortly.",
    "25P04": "The database ended a transaction that took too long; try again shortly.",
    "55P03": "Another transaction held a lock on the same rows for too long; try again shortly.",
}
# What a server, or PgBouncer, says when it refuses a connection. libpq passes on no SQLSTATE then. A server whose
# lc_messages is not English says something else, which reads as "cannot be reached".
_OUT_OF_CONNECTIONS = (
    "too many clients",
    "too many connections for",
    "connection slots are reserved",
    "no more connections allowed",
)
_CHANGING_STATE = "the database system is "  # starting up, shutting down, in recovery mode, not accepting connections
_DRIVER_DOWN = (psycopg.OperationalError, psycopg.InterfaceError)


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Translate the driver errors of the block; all other exceptions pass through unchanged."""
    try:
        yield
    except PoolTimeout as error:
        raise OutOfConnections(
            f"All database connections have been busy for {POOL_WAIT_S:.0f} s; try again shortly."
        ) from error
    except DBAPIError as error:
        raise translation(error.orig, is_lost=error.connection_invalidated) from error
    except psycopg.Error as error:
        raise translation(error, is_lost=False) from error
    except ConnectionError as error:
        raise StoreUnavailable from error


def is_out_of_connections(cause: BaseException | None) -> bool:
    """Return whether the server refused a connection because it has none left."""
    return isinstance(cause, states.TooManyConnections) or _refuses(cause, *_OUT_OF_CONNECTIONS)


def _refuses(cause: BaseException | None, *phrases: str) -> bool:
    """Return whether no connection was made, for a reason that contains one of the phrases."""
    if not isinstance(cause, _DRIVER_DOWN) or cause.sqlstate is not None:
        return False
    return any(phrase in str(cause) for phrase in phrases)


def translation(cause: BaseException | None, *, is_lost: bool) -> Exception:
    """Return the error of the store to raise in place of a driver error; `is_lost` tells that the connection is."""
    if isinstance(cause, states.UniqueViolation | states.ForeignKeyViolation):
        return KeyCollision(cause.diag.constraint_name)
    if isinstance(cause, states.ExclusionViolation):
        return ConditionsOverlap()
    if isinstance(cause, states.DeadlockDetected | states.SerializationFailure):
        return WriteCollision()
    if isinstance(cause, states.QueryCanceled):
        return StatementTimedOut()
    if is_lost or is_transient(cause):
        return _unavailability(cause)
    return StatementFailed(type(cause).__name__, getattr(cause, "sqlstate", None))


def _unavailability(cause: BaseException | None) -> StoreUnavailable:
    if is_out_of_connections(cause):
        return OutOfConnections()
    if _refuses(cause, _CHANGING_STATE):
        return StoreUnavailable("The database is starting or stopping, and accepts no connection; try again shortly.")
    return StoreUnavailable(_TRANSIENT_REASONS.get(str(getattr(cause, "sqlstate", None))))


def is_transient(cause: BaseException | None) -> bool:
    """Return whether a later attempt may not repeat a driver error."""
    state = getattr(cause, "sqlstate", None)
    if state is None:  # the error is not the server's
        return isinstance(cause, _DRIVER_DOWN)
    return bool(str(state).startswith(_TRANSIENT))
