"""Driver errors become errors of the store, in one place.

Outside this room nobody imports SQLAlchemy or psycopg: callers meet `StoreUnavailable` and its kinds, which a retry may
cure, `ConditionsOverlap`, and `StatementFailed` for everything else, which is a defect. None of their messages quotes
the driver's, because a driver quotes the row, and rows are memories.
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
    StatementFailed,
    StoreUnavailable,
    WriteCollision,
)

POOL_WAIT_S = 5.0  # for a connection of the pool

# SQLSTATE classes and codes that a later attempt may not meet again: connection, read-only standby, rollback,
# resources, lock wait, operator intervention.
_TRANSIENT = ("08", "25006", "40", "53", "55P03", "57")
_DRIVER_DOWN = (psycopg.OperationalError, psycopg.InterfaceError)


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Translate the driver errors of the block; all other exceptions pass through unchanged."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable(
            f"All database connections have been busy for {POOL_WAIT_S:.0f} s; try again shortly."
        ) from error
    except DBAPIError as error:
        raise translation(error) from error
    except (*_DRIVER_DOWN, ConnectionError) as error:
        raise StoreUnavailable from error


def translation(error: DBAPIError) -> Exception:
    """Return the store's error for a driver's."""
    cause = error.orig
    if isinstance(cause, states.UniqueViolation | states.ForeignKeyViolation):
        return KeyCollision(cause.diag.constraint_name)
    if isinstance(cause, states.ExclusionViolation):
        return ConditionsOverlap()
    if isinstance(cause, states.DeadlockDetected | states.SerializationFailure):
        return WriteCollision()
    if _is_transient(error):
        return StoreUnavailable()
    return StatementFailed(type(cause).__name__, getattr(cause, "sqlstate", None))


def _is_transient(error: DBAPIError) -> bool:
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    if state is None:  # no server answered
        return isinstance(error.orig, _DRIVER_DOWN)
    return bool(str(state).startswith(_TRANSIENT))
