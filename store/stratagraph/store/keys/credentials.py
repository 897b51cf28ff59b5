"""API keys: 32 random bytes, stored as their SHA-256 only, and the trust that each key grants."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import func, select, update

from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import RecordNotFound, Unauthenticated
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.schema import tables

PREFIX = "sg"  # of every token


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """An API key without its secret. `scopes` None means all; `identity` tells it from other keys of its name."""

    id: UUID
    name: str
    identity: str
    tenant: str
    access: Access
    ceiling: Sensitivity
    scopes: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class Credentials:
    """Creates, checks, lists and revokes the API keys of one database."""

    def __init__(self, database: Database, directory: Directory) -> None:
        self._database = database
        self._directory = directory

    async def create(self, trust: Trust, *, expires_at: datetime | None = None) -> tuple[UUID, str]:
        """Create an API key and return its id and its token, which cannot be read again.

        The token grants `trust`, whose tenant is created if it does not exist, with an identity of the key's own.
        Without `expires_at` it never expires.
        """
        tenant = await self._directory.tenant(trust.tenant, create=True)
        assert tenant is not None  # create=True
        id_, secret = uuid4(), secrets.token_bytes(32)
        async with self._database.background(Role.KEYS) as connection:
            await connection.execute(
                tables.credential.insert().values(
                    id=id_,
                    tenant=tenant.id,
                    name=trust.actor,
                    identity=f"key:{id_}",
                    secret_sha256=hashlib.sha256(secret).digest(),
                    access=int(trust.access),
                    ceiling=int(trust.ceiling),
                    all_scopes=trust.scopes is None,
                    scopes=sorted(trust.scopes or ()),
                    expires_at=expires_at,
                )
            )
        return id_, f"{PREFIX}_{id_.hex}_{base64.urlsafe_b64encode(secret).decode().rstrip('=')}"

    async def authenticate(self, token: str) -> Trust:
        """Return the trust that the token of an API key grants.

        Raises Unauthenticated if it is malformed, unknown, revoked or expired, with the same message in each case.
        """
        try:
            prefix, hexadecimal, encoded = token.split("_", 2)
            id_ = UUID(hexadecimal)
            secret = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        except ValueError:
            raise Unauthenticated from None
        if prefix != PREFIX:
            raise Unauthenticated
        table = tables.credential
        async with self._database.background(Role.KEYS) as connection:
            row = (
                await connection.execute(
                    select(table, tables.tenant.c.name.label("tenant_name"))
                    .join(tables.tenant, tables.tenant.c.id == table.c.tenant)
                    .where(
                        table.c.id == id_,
                        table.c.revoked_at.is_(None),
                        func.coalesce(table.c.expires_at > func.now(), True),
                    )
                )
            ).one_or_none()
        presented = hashlib.sha256(secret).digest()
        if row is None or not hmac.compare_digest(bytes(row.secret_sha256), presented):
            raise Unauthenticated
        return Trust(
            tenant=row.tenant_name,
            actor=row.name,
            access=Access(row.access),
            ceiling=Sensitivity(row.ceiling),
            scopes=None if row.all_scopes else frozenset(row.scopes),
            key_identity=row.identity,
        )

    async def all(self) -> Sequence[Credential]:
        """Return the API keys of all tenants, oldest first, expired and revoked ones included."""
        table = tables.credential
        async with self._database.background(Role.KEYS) as connection:
            rows = await connection.execute(
                select(table, tables.tenant.c.name.label("tenant_name"))
                .join(tables.tenant, tables.tenant.c.id == table.c.tenant)
                .order_by(table.c.created_at)
            )
            return [
                Credential(
                    id=row.id,
                    name=row.name,
                    identity=row.identity,
                    tenant=row.tenant_name,
                    access=Access(row.access),
                    ceiling=Sensitivity(row.ceiling),
                    scopes=None if row.all_scopes else tuple(row.scopes),
                    created_at=row.created_at,
                    expires_at=row.expires_at,
                    revoked_at=row.revoked_at,
                )
                for row in rows
            ]

    async def revoke(self, id_: UUID) -> None:
        """Revoke the API key with this id from the next request on. Repeating it changes nothing.

        Raises RecordNotFound if there is no such key.
        """
        table = tables.credential
        async with self._database.background(Role.KEYS) as connection:
            revoked = await connection.execute(
                update(table)
                .where(table.c.id == id_)
                .values(revoked_at=func.coalesce(table.c.revoked_at, func.now()))
                .returning(table.c.id)
            )
            if revoked.one_or_none() is None:
                raise RecordNotFound(id_, f"There is no key {id_}; `stratagraph token list` shows all keys.")
