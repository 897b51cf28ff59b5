"""The bounds of streams: who may open one, how many one credential may have at a process, and how long it lasts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from stratagraph.graphql.authentication import SINGLE_USER_PARTY, Authentication, Credential
from stratagraph.graphql.limits.options import FairUse
from stratagraph.store.model.errors import RateLimited, StoreUnavailable

RECHECK_S = 10.0  # seconds between two checks of the credential of an open stream
RETRY_S = 1.0  # after which a client may ask again for a subscription that had no place


class OpenSubscriptions:
    """Counts the open subscriptions of one process, and refuses those beyond the limits."""

    def __init__(self, options: FairUse) -> None:
        self._options = options
        self._of_party: Counter[str] = Counter()
        self._same: Counter[Hashable] = Counter()

    @property
    def total(self) -> int:
        return self._of_party.total()

    @contextmanager
    def held(self, party: str) -> Iterator[None]:
        """Count a subscription for the block. Raises RateLimited if the party, or the process, has too many."""
        share = self._options.subscriptions if party == SINGLE_USER_PARTY else self._options.subscriptions_share
        if self._of_party[party] >= share or self.total >= self._options.subscriptions:
            raise RateLimited(
                f"{self._of_party[party]} subscriptions of this credential are open at this process, and it has room"
                " for no more; complete one, or follow more with one subscription.",
                retry_after_s=RETRY_S,
            )
        self._of_party[party] += 1
        try:
            yield
        finally:
            self._of_party[party] -= 1
            if not self._of_party[party]:
                del self._of_party[party]

    @contextmanager
    def like(self, sameness: Hashable) -> Iterator[None]:
        """Count a subscription, for the block, among those to which changes look the same."""
        self._same[sameness] += 1
        try:
            yield
        finally:
            self._same[sameness] -= 1
            if not self._same[sameness]:
                del self._same[sameness]

    def has_several(self, sameness: Hashable) -> bool:
        """Return whether more than one open subscription would render the same."""
        return self._same[sameness] > 1


async def until_invalid(authentication: Authentication, header: str | None, credential: Credential) -> None:
    """Return when a credential is no longer valid, or gives another trust; nobody is told while that is unknown.

    Raises Unauthenticated where it was revoked or has expired.
    """
    while True:
        await asyncio.sleep(RECHECK_S)
        try:
            if await authentication.checked(header) != credential:
                return
        except StoreUnavailable:
            continue  # it is checked again; what the stream shows needs the same database


def is_own_origin(connection: HTTPConnection, origins: frozenset[str]) -> bool:
    """Return whether a request comes from no page, from one of the same host, or from one of `origins`."""
    origin = connection.headers.get("origin")
    if origin is None or origin in origins:
        return True
    try:
        return urlsplit(origin).netloc.lower() == connection.headers.get("host", "").lower() != ""
    except ValueError:
        return False


async def never() -> None:
    """Wait for ever: what runs on a stream ends with the stream, which cancels it."""
    await asyncio.Event().wait()
