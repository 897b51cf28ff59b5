"""What the commands on the mirror share: the worker, and a tenant's number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stratagraph.store.model.errors import InvalidInput, MirrorUnavailable

if TYPE_CHECKING:
    from stratagraph.graph_sync.worker import SyncWorker
    from stratagraph.service.runtime import Runtime


def new_worker(runtime: Runtime) -> SyncWorker:
    """Return a worker of the configured mirror. Raises MirrorUnavailable if none is configured."""
    if not runtime.mirror.is_found:
        raise no_mirror()
    return runtime.sync_worker()


async def tenant_number(runtime: Runtime, name: str | None) -> int | None:
    """Return the number of the tenant `name` in the database; None without a name. Raises InvalidInput if unknown."""
    if name is None:
        return None
    found = await runtime.directory.tenant(name)
    if found is None:
        raise InvalidInput(
            f"--tenant: there is no tenant {name!r}; check the spelling, or leave it out for all", path=["--tenant"]
        )
    return found.id


def no_mirror() -> MirrorUnavailable:
    """Return the error for commands that need a mirror where none is configured."""
    return MirrorUnavailable(
        "No mirror is configured: set STRATAGRAPH_NEO4J_URI, or start a local Neo4j with `stratagraph neo4j start`."
    )
