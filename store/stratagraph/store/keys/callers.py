"""Tenants and callers: the values that name whose records a statement reads and writes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from stratagraph.store.keys.sealing.vault import Keyring
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.trust import Trust, acl
from stratagraph.store.postgres.database import Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One tenant: its number in the database, its name, its unwrapped index key (32 bytes) and its keyring."""

    id: int
    name: str
    index_key: bytes = field(repr=False)
    keyring: Keyring = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A caller's trust, resolved to the numbers of the database.

    `scopes` has the numbers of the scopes that the caller may read, the unscoped one among them. None means all
    scopes of the tenant.
    """

    tenant: Tenant
    trust: Trust
    scopes: tuple[int, ...] | None

    @property
    def ceiling(self) -> Sensitivity:
        """The highest sensitivity that the caller may read in full."""
        return self.trust.ceiling

    @property
    def bounds(self) -> Bounds:
        """The tenant, scopes, ceiling and identity that row-level security enforces for the caller's transactions."""
        return Bounds(tenant=self.tenant.id, scopes=self.scopes, ceiling=int(self.ceiling), actor=self.trust.identity)

    def unrestricted(self) -> Caller:
        """Return a copy of the caller with all scopes of its tenant and the highest ceiling.

        For the consequences of a write, which may change records that the caller may not see. Never answer a caller
        from what it reads.
        """
        return replace(self, trust=replace(self.trust, ceiling=Sensitivity.HYPER, scopes=None), scopes=None)

    def may_read(self, scope: int, sensitivity: int) -> bool:
        """Return whether the caller may read records of this scope, by its number, and sensitivity in full."""
        return sensitivity <= self.ceiling and (self.scopes is None or scope in self.scopes)

    def parameters(self) -> dict[str, Any]:
        """Return the bind parameters that every statement over records takes.

        `tenant`, `all_scopes` (true for a caller without a list of scopes), `scopes` (the list, else empty) and
        `ceiling`, all as numbers of the database.
        """
        return {
            "tenant": self.tenant.id,
            "all_scopes": self.scopes is None,
            "scopes": list(self.scopes or ()),
            "ceiling": int(self.ceiling),
        }

    def acls(self, sensitivity: int) -> list[int]:
        """Return the `acl` number of each of the caller's scopes at one sensitivity.

        The list is empty for a caller with all scopes, for whom statements do not filter by scope.
        """
        return [acl(scope, sensitivity) for scope in self.scopes or ()]
