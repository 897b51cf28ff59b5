"""What the mirror needs of Neo4j's driver: credentials that may change, and its errors in our words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from neo4j.auth_management import AsyncAuthManager
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from stratagraph.store.model.errors import MirrorUnavailable


class PresentCredentials(AsyncAuthManager):
    """Reads the user name and the password each time that the driver uses a connection."""

    def __init__(self, read: Callable[[], tuple[str, str] | None]) -> None:
        self._read = read

    async def get_auth(self) -> tuple[str, str] | None:
        return self._read()

    async def handle_security_exception(self, auth: object, error: Neo4jError) -> bool:
        """Return False: the next connection reads the credentials again in any case."""
        return False


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Raise MirrorUnavailable in place of driver errors that mean an outage or wrong credentials.

    Any other error of Neo4j, such as a refusal of the data, is raised unchanged.
    """
    try:
        yield
    except AuthError as error:
        raise MirrorUnavailable(
            "Neo4j refuses the credentials; check STRATAGRAPH_NEO4J_USER and STRATAGRAPH_NEO4J_PASSWORD, or, with the"
            " local Neo4j, the file that `stratagraph neo4j status` names."
        ) from error
    except Neo4jError as error:
        if error.is_retryable() or (error.code or "").startswith("Neo.TransientError"):
            raise MirrorUnavailable(f"Neo4j cannot answer at present: {error.code}; retry shortly") from error
        raise
    except (DriverError, OSError) as error:  # a timeout is an OSError
        raise _unreachable(error) from error
    except ValueError as error:
        if isinstance(error.__cause__, OSError):  # how the driver reports a name server that fails
            raise _unreachable(error.__cause__) from error
        raise


def _unreachable(error: Exception) -> MirrorUnavailable:
    return MirrorUnavailable(
        f"Neo4j cannot be reached: {type(error).__name__}; check that it runs at STRATAGRAPH_NEO4J_URI"
    )
