"""The database connections that each process of a service may open. See docs/operations.md, A database of your own."""

from __future__ import annotations

import math

from stratagraph.service.embedded_postgres import MAX_CONNECTIONS
from stratagraph.service.settings import Settings
from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.postgres.database import (
    AUTONOMOUS_POOL_SIZE,
    EXPORT_POOL_SIZE,
    SPARE_CONNECTIONS,
    WORKER_POOL_SIZE,
)

LEAST_CONNECTIONS = 2  # of a worker, for operations
LEAST_BACKGROUND_CONNECTIONS = 2  # of a worker, whose requests use them for names, credentials and budgets
LEFT_CONNECTIONS = 20  # of the embedded database's, for commands and for processes beside the service


def settings_of_worker(settings: Settings) -> Settings:
    """Return the settings of one of the workers, with its part of the connections for operations."""
    count = settings.worker_count
    connections = max(LEAST_CONNECTIONS, math.ceil(settings.database_connections / count))
    return settings.model_copy(update={"database_connections": connections})


def background_connections(workers: int) -> int:
    """Return the connections of one of the workers for background work."""
    return max(LEAST_BACKGROUND_CONNECTIONS, math.ceil(WORKER_POOL_SIZE / workers))


def connections_needed(settings: Settings, workers: int) -> int:
    """Return the most connections that all processes of a service open."""
    shared = SPARE_CONNECTIONS + AUTONOMOUS_POOL_SIZE
    alone = settings.database_connections + shared + WORKER_POOL_SIZE
    if workers == 1:
        return alone + EXPORT_POOL_SIZE
    own = settings_of_worker(settings).database_connections + shared + background_connections(workers)
    return alone + workers * (own + EXPORT_POOL_SIZE)


def check_connections(settings: Settings, workers: int) -> None:
    """Raise Misconfigured if the embedded database allows fewer connections than the processes may open."""
    allowed = MAX_CONNECTIONS - LEFT_CONNECTIONS
    if settings.database_url is None and (needed := connections_needed(settings, workers)) > allowed:
        raise Misconfigured(
            f"{workers} workers would use up to {needed} connections of the embedded Postgres, which allows {allowed}."
            " Lower STRATAGRAPH_WORKERS or STRATAGRAPH_DATABASE_CONNECTIONS, or set STRATAGRAPH_DATABASE_URL to a"
            " database of your own."
        )
