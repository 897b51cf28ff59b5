"""Transactions that met: the same again, a moment later, is likely to work, and no caller need hear of it."""

from __future__ import annotations

import asyncio
import random

import psycopg
from sqlalchemy.exc import DBAPIError

ATTEMPTS = 8
_LONGEST_PAUSE_S = 0.5


class Crossed(Exception):
    """Something that was read before its lock has changed until the lock was held: begin again."""


def collided(error: BaseException | None) -> bool:
    """Whether another transaction was in the way: a deadlock, a failed serialization, a race for one key, or a record
    that went while something was about to refer to it."""
    orig = error.orig if isinstance(error, DBAPIError) else error
    return isinstance(
        orig,
        psycopg.errors.DeadlockDetected
        | psycopg.errors.SerializationFailure
        | psycopg.errors.UniqueViolation
        | psycopg.errors.ForeignKeyViolation,
    )


async def step_aside(attempt: int) -> None:
    """Wait a random while, longer each time, so that the same two do not meet again."""
    await asyncio.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, 0.01 * 2**attempt)))
