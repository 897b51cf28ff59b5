"""Names become numbers: tenants, scopes and predicates are interned once and remembered in the process.

Interning commits by itself, before the transaction that uses the number, so that a rolled-back write never
leaves a number in the cache that the database does not have.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert

from stratagraph.store.keys.sealing.vault import Keyring, Vault
from stratagraph.store.model.canonical import KEY_BYTES
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import LimitExceeded
from stratagraph.store.model.predicates import INVERSES
from stratagraph.store.model.trust import UNSCOPED, Trust, acl
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.database import Bounds, Database

MAX_PREDICATES = 1_000  # a tenant; each becomes a relationship type with a constraint of its own in the mirror
DOC_CHUNK = 1_024  # dense numbers a process takes at once; what it does not use is a harmless gap


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    id: int
    name: str
    index_key: bytes = field(repr=False)
    keyring: Keyring = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A caller's trust in the database's numbers. `scopes` is None for all; else it includes unscoped."""

    tenant: Tenant
    trust: Trust
    scopes: tuple[int, ...] | None

    @property
    def ceiling(self) -> Sensitivity:
        return self.trust.ceiling

    @property
    def bounds(self) -> Bounds:
        """What row-level security holds the caller to, whatever a statement says."""
        return Bounds(tenant=self.tenant.id, scopes=self.scopes, ceiling=int(self.ceiling))

    def everything(self) -> Caller:
        """All of the tenant: for consequences of a write that its caller may not see. Never for an answer."""
        return replace(self, trust=replace(self.trust, ceiling=Sensitivity.HYPER, scopes=None), scopes=None)

    def parameters(self) -> dict[str, Any]:
        """What every statement that reads records binds: `:tenant`, `:all_scopes`, `:scopes`, `:ceiling`."""
        return {
            "tenant": self.tenant.id,
            "all_scopes": self.scopes is None,
            "scopes": list(self.scopes or ()),
            "ceiling": int(self.ceiling),
        }

    def acls(self, sensitivity: int) -> list[int]:
        """The `acl` numbers of one level in the caller's scopes; only for callers without `*`."""
        return [acl(scope, sensitivity) for scope in self.scopes or ()]


class Directory:
    """The interned names of one database, and the vault with the keys of its tenants."""

    def __init__(self, database: Database, vault: Vault | None = None) -> None:
        self._database = database
        self.vault = vault or Vault(database)  # which seals by default, so without a master key it refuses
        self._tenants: dict[str, Tenant] = {}
        self._scopes: dict[int, dict[str, int]] = {}
        self._scope_names: dict[int, str] = {}
        self._predicates: dict[int, dict[str, int]] = {}
        self._predicate_names: dict[tuple[int, int], str] = {}
        self._docs: dict[int, list[int]] = {}

    async def tenant(self, name: str, *, create: bool = False) -> Tenant | None:
        found = self._tenants.get(name)
        if found is not None:
            return found
        async with self._database.autonomous() as connection:
            if create:
                index_key, wrapped_by = await self.new_index_key()
                await connection.execute(
                    insert(tables.tenant)
                    .values(name=name, index_key=index_key, wrapped_by=wrapped_by)
                    .on_conflict_do_nothing(index_elements=["name"])
                )
            row = (await connection.execute(select(tables.tenant).where(tables.tenant.c.name == name))).one_or_none()
        if row is None:
            return None
        tenant = Tenant(
            id=row.id,
            name=row.name,
            index_key=await self.vault.unwrapped(bytes(row.index_key), row.wrapped_by),
            keyring=self.vault.keyring(row.id),
        )
        self._tenants[name] = tenant
        return tenant

    async def new_index_key(self) -> tuple[bytes, str | None]:
        """A new index key as it is stored, and the master key that wraps it, if there is one."""
        key = secrets.token_bytes(KEY_BYTES)
        return await self.vault.wrapped(key) if self.vault.master is not None else (key, None)

    def forget(self, tenant: Tenant) -> None:
        """Drop a tenant's keys from this process; whoever needs them reads them again."""
        self._tenants.pop(tenant.name, None)
        self.vault.forget(tenant.id)

    async def tenant_by_id(self, number: int) -> Tenant:
        """For background work, which meets tenants by their number."""
        for tenant in self._tenants.values():
            if tenant.id == number:
                return tenant
        async with self._database.autonomous() as connection:
            name = (
                await connection.execute(select(tables.tenant.c.name).where(tables.tenant.c.id == number))
            ).scalar_one()
        found = await self.tenant(name)
        assert found is not None  # tenants are never renamed or removed beneath their records
        return found

    async def caller(self, trust: Trust) -> Caller:
        """The caller's trust in numbers. Scopes nobody has written to yet are simply not in it."""
        tenant = await self.tenant(trust.tenant, create=True)
        assert tenant is not None  # create=True
        if trust.scopes is None:
            return Caller(tenant=tenant, trust=trust, scopes=None)
        known = await self.scopes(tenant, [UNSCOPED, *sorted(trust.scopes)], create=False)
        return Caller(tenant=tenant, trust=trust, scopes=tuple(sorted(known.values())))

    async def scopes(self, tenant: Tenant, names: Iterable[str], *, create: bool) -> dict[str, int]:
        wanted = set(names)
        cache = self._scopes.setdefault(tenant.id, {})
        missing = sorted(wanted - cache.keys())
        if missing:
            async with self._database.autonomous() as connection:
                if create:
                    await connection.execute(
                        insert(tables.scope)
                        .values([{"tenant": tenant.id, "name": name} for name in missing])
                        .on_conflict_do_nothing(index_elements=["tenant", "name"])
                    )
                rows = await connection.execute(
                    select(tables.scope.c.id, tables.scope.c.name).where(
                        tables.scope.c.tenant == tenant.id, tables.scope.c.name.in_(missing)
                    )
                )
                for row in rows:
                    cache[row.name] = row.id
                    self._scope_names[row.id] = row.name
        return {name: cache[name] for name in wanted if name in cache}

    async def scope_names(self, numbers: Iterable[int]) -> dict[int, str]:
        wanted = set(numbers)
        missing = wanted - self._scope_names.keys()
        if missing:
            async with self._database.autonomous() as connection:
                rows = await connection.execute(
                    select(tables.scope.c.id, tables.scope.c.name).where(tables.scope.c.id.in_(missing))
                )
                self._scope_names.update({row.id: row.name for row in rows})
        return {number: self._scope_names[number] for number in wanted}

    async def predicates(self, tenant: Tenant, names: Iterable[str]) -> dict[str, int]:
        """Numbers for predicates, interned at need. Raises LimitExceeded past MAX_PREDICATES a tenant."""
        wanted = set(names)
        cache = self._predicates.setdefault(tenant.id, {})
        missing = sorted(wanted - cache.keys())
        if missing:
            async with self._database.autonomous() as connection:
                table = tables.predicate
                if len(cache) + len(missing) > MAX_PREDICATES:
                    raise LimitExceeded(
                        f"relations: this tenant would have more than {MAX_PREDICATES} different predicates;"
                        f" use those of the registry ({', '.join(sorted(INVERSES))}) or fewer of your own",
                        path=["relations"],
                    )
                await connection.execute(
                    insert(table)
                    .values([{"tenant": tenant.id, "name": name} for name in missing])
                    .on_conflict_do_nothing(index_elements=["tenant", "name"])
                )
                rows = await connection.execute(select(table.c.id, table.c.name).where(table.c.tenant == tenant.id))
                for row in rows:
                    cache[row.name] = row.id
                    self._predicate_names[tenant.id, row.id] = row.name
        return {name: cache[name] for name in wanted}

    async def predicate_names(self, keys: Iterable[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """Names of predicates by (tenant, number)."""
        wanted = set(keys)
        missing = wanted - self._predicate_names.keys()
        if missing:
            table = tables.predicate
            async with self._database.autonomous() as connection:
                rows = await connection.execute(
                    select(table.c.tenant, table.c.id, table.c.name).where(
                        table.c.id.in_({number for _, number in missing})
                    )
                )
                self._predicate_names.update({(row.tenant, row.id): row.name for row in rows})
        return {key: self._predicate_names[key] for key in wanted}

    async def docs(self, tenant: Tenant, count: int) -> Sequence[int]:
        """`count` dense document numbers, taken in chunks so that writers do not queue for a counter row."""
        stock = self._docs.setdefault(tenant.id, [])
        if len(stock) < count:
            chunk = max(DOC_CHUNK, count)
            async with self._database.autonomous() as connection:
                end = (
                    await connection.execute(
                        text(
                            "INSERT INTO doc_counter AS c (tenant, next) VALUES (:tenant, 1 + :chunk)"
                            " ON CONFLICT (tenant) DO UPDATE SET next = c.next + :chunk RETURNING next"
                        ),
                        {"tenant": tenant.id, "chunk": chunk},
                    )
                ).scalar_one()
            stock.extend(range(end - chunk, end))
        taken, self._docs[tenant.id] = stock[:count], stock[count:]
        return taken
