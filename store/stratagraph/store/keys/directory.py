"""The directory of interned names: tenants, scopes and predicates, each stored once and known by a number.

A name is interned in a transaction of its own, which commits before the transaction that uses the number. So a write
that rolls back never leaves a number in the cache that the database does not have (docs/decisions.md).
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from sqlalchemy import func, select, text, union
from sqlalchemy.dialects.postgresql import insert

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.canonical import KEY_BYTES
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import KeyCollision, LimitExceeded, TenantErased
from stratagraph.store.model.predicates import INVERSES, LINEAGE, is_free
from stratagraph.store.model.trust import UNSCOPED, Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.postgres.schema import tables

MAX_FREE_PREDICATES = 200  # of one actor, by default
MAX_PREDICATES = 1_000  # per tenant; the mirror makes a relationship type and a constraint for each


class Directory:
    """Converts names of tenants, scopes and predicates to their numbers and back, and creates missing ones.

    Caches them in the process, with the tenants' keys in `vault`. Without a `vault`, a default one is used, which seals
    from sensitivity `high` up but has no master key: sealing and making data keys raise Misconfigured. An actor may use
    `max_free_predicates` predicates that are not in the registry.
    """

    def __init__(
        self, database: Database, vault: Vault | None = None, *, max_free_predicates: int = MAX_FREE_PREDICATES
    ) -> None:
        self._database = database
        self.vault = vault or Vault(database)
        self._tenants: dict[str, Tenant] = {}
        self._scopes: dict[int, dict[str, int]] = {}
        self._scope_names: dict[int, str] = {}
        self._predicates: dict[int, dict[str, int]] = {}
        self._predicate_names: dict[tuple[int, int], str] = {}
        self._max_free_predicates = max_free_predicates
        database.when_tenant_erased.append(self._forget_number)
        self._free_predicates: dict[tuple[int, str], set[str]] = {}

    async def tenant(self, name: str, *, create: bool = False) -> Tenant | None:
        """Return the tenant of this name; None if there is none and `create` is false.

        With `create`, a missing tenant is created with a new index key. Raises Misconfigured if the master key that
        wraps its index key was not given.
        """
        found = self._tenants.get(name)
        if found is not None:
            return found
        stored = select(tables.tenant).where(tables.tenant.c.name == name)
        async with self._database.autonomous() as connection:
            row = (await connection.execute(stored)).one_or_none()
            if row is None and create:  # read first, so that a database that takes no writes answers questions
                index_key, wrapped_by = await self.new_index_key()
                await connection.execute(
                    insert(tables.tenant)
                    .values(name=name, index_key=index_key, wrapped_by=wrapped_by)
                    .on_conflict_do_nothing(index_elements=["name"])
                )
                row = (await connection.execute(stored)).one_or_none()
        if row is None:
            return None
        tenant = Tenant(
            id=row.id,
            name=row.name,
            index_key=await self.vault.unwrap(bytes(row.index_key), row.wrapped_by),
            keyring=self.vault.keyring(row.id),
        )
        self._tenants[name] = tenant
        return tenant

    async def new_index_key(self) -> tuple[bytes, str | None]:
        """Return a new index key in the form to store it, and the name of the master key that wraps it.

        Without a master key it is not wrapped, and the name is None. Nothing is stored here.
        """
        key = secrets.token_bytes(KEY_BYTES)
        return await self.vault.wrap(key) if self.vault.master is not None else (key, None)

    def forget(self, tenant: Tenant) -> None:
        """Drop a tenant's keys and numbers from this process's cache. The next use reads them from the database."""
        self._forget_number(tenant.id)

    def _forget_number(self, number: int) -> None:
        self._tenants = {name: tenant for name, tenant in self._tenants.items() if tenant.id != number}
        for numbers in (self._scopes, self._predicates):
            numbers.pop(number, None)
        self._free_predicates = {key: names for key, names in self._free_predicates.items() if key[0] != number}
        self.vault.forget(number)

    @asynccontextmanager
    async def _interning(self, tenant: Tenant) -> AsyncIterator[Connection]:
        """Open a transaction that interns a name of the tenant. Raises TenantErased if the tenant was erased."""
        try:
            async with self._database.autonomous() as connection:
                yield connection
        except KeyCollision as error:
            if error.constraint is None or not error.constraint.endswith("_tenant_fk"):
                raise
            self.forget(tenant)
            raise TenantErased from error

    async def tenant_by_id(self, number: int) -> Tenant:
        """Return the tenant with this number, by which background work knows it.

        Raises NoResultFound (SQLAlchemy) if there is none.
        """
        for tenant in self._tenants.values():
            if tenant.id == number:
                return tenant
        async with self._database.autonomous() as connection:
            name = (
                await connection.execute(select(tables.tenant.c.name).where(tables.tenant.c.id == number))
            ).scalar_one()
        found = await self.tenant(name)
        assert found is not None  # tenants are never renamed, nor deleted before their records
        return found

    async def resolve(self, trust: Trust) -> Caller:
        """Resolve a caller's trust to the numbers of the database, creating its tenant if it does not exist.

        Scopes that have never been written to have no number and are left out.
        """
        tenant = await self.tenant(trust.tenant, create=True)
        assert tenant is not None  # create=True
        if trust.scopes is None:
            return Caller(tenant=tenant, trust=trust, scopes=None)
        known = await self.scopes(tenant, [UNSCOPED, *sorted(trust.scopes)], create=False)
        return Caller(tenant=tenant, trust=trust, scopes=tuple(sorted(known.values())))

    async def scopes(self, tenant: Tenant, names: Iterable[str], *, create: bool) -> dict[str, int]:
        """Return the numbers of the tenant's scopes, keyed by name.

        Missing ones are created if `create`, and left out otherwise.
        """
        wanted = set(names)
        cache = self._scopes.setdefault(tenant.id, {})
        missing = sorted(wanted - cache.keys())
        if missing:
            async with self._interning(tenant) as connection:
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
        """Return the names of scopes, keyed by number. Raises KeyError for an unknown number."""
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
        """Return the numbers of the tenant's predicates, keyed by name. Missing ones are created.

        Raises LimitExceeded if the tenant would have more than MAX_PREDICATES.
        """
        wanted = set(names)
        cache = self._predicates.setdefault(tenant.id, {})
        missing = sorted(wanted - cache.keys())
        if missing:
            async with self._interning(tenant) as connection:
                table = tables.predicate
                if len(cache) + len(missing) > MAX_PREDICATES:
                    raise _too_many_predicates(["relations"])
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

    async def claim_predicates(self, caller: Caller, names: Iterable[str], *, path: list[str]) -> None:
        """Count the predicates in `names` that are not in the registry as used by the caller.

        Raises LimitExceeded, naming `path`, if the caller would have used more than `max_free_predicates`, or if the
        tenant has MAX_PREDICATES. Predicates that other callers use count as new to this one under both limits: which
        ones they use does not show, only that all of them together have reached the tenant's limit.
        """
        tenant, actor = caller.tenant.id, caller.trust.identity
        known = self._free_predicates.setdefault((tenant, actor), set())
        if known.issuperset(free := {name for name in names if is_free(name)}):
            return
        table = tables.free_predicate
        async with self._interning(caller.tenant) as connection:
            # One transaction at a time counts for a tenant, so that two at once cannot exceed a limit.
            await connection.execute(
                text("SELECT pg_advisory_xact_lock(hashtextextended('free predicates', :tenant))"), {"tenant": tenant}
            )
            used = select(table.c.name).where(table.c.tenant == tenant, table.c.actor == actor)
            known.update((await connection.execute(used)).scalars())
            new = sorted(free - known)
            if new and len(known) + len(new) > self._max_free_predicates:
                raise LimitExceeded(
                    f"{'.'.join(path)}: {shown(new[0])} would be one more than the {self._max_free_predicates}"
                    " predicates of its own that this credential may use; use one of them again, or one of the"
                    f" registry ({', '.join(sorted(INVERSES.keys() - LINEAGE))})",
                    path=path,
                )
            if new and await _count_predicates(connection, tenant) + len(new) > MAX_PREDICATES:
                raise _too_many_predicates(path)
            if new:
                rows = [{"tenant": tenant, "actor": actor, "name": name} for name in new]
                await connection.execute(insert(table).values(rows))
        known.update(new)

    async def predicate_names(self, keys: Iterable[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """Return the names of predicates, keyed by (tenant, number). Raises KeyError for an unknown pair."""
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

    async def all_predicates(self) -> set[str]:
        """Return the names of the predicates of all tenants."""
        async with self._database.autonomous() as connection:
            return set((await connection.execute(select(tables.predicate.c.name).distinct())).scalars())


async def _count_predicates(connection: Connection, tenant: int) -> int:
    """Return the number of predicates of the registry and of those that the tenant has besides or has claimed."""
    registry = INVERSES.keys() | LINEAGE
    names = union(
        *(
            select(table.c.name).where(table.c.tenant == tenant, table.c.name.not_in(registry))
            for table in (tables.predicate, tables.free_predicate)
        )
    )
    found = await connection.execute(select(func.count()).select_from(names.subquery()))
    return len(registry) + found.scalar_one()


def _too_many_predicates(path: list[str]) -> LimitExceeded:
    return LimitExceeded(
        f"{'.'.join(path)}: this tenant would have more than {MAX_PREDICATES} different predicates; use those of the"
        f" registry ({', '.join(sorted(INVERSES.keys() - LINEAGE))}), or those that this credential has used",
        path=path,
    )
