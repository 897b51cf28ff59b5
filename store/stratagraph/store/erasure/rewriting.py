"""Reading and rewriting the contents of records that are kept, their history included.

A rewrite is not an edit: it leaves no history of the content before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import Table, delete, null, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.changes import Change, Kind
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import FIELDS, open_contents, plain_columns, sealed_columns
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.queries import Row
from stratagraph.store.postgres.schema import tables


async def rewrite(
    connection: AsyncConnection,
    tenant: Tenant,
    ids: Collection[UUID],
    change: Callable[[Mapping[str, Any]], dict[str, Any] | None],
) -> list[Change]:
    """Replace the content of locked records and of all their earlier versions by what `change` returns for it.

    Content for which `change` returns None is not written. Returns the changes that the caller must append to the
    change feed.
    """
    changes = []
    for table in (tables.record, tables.record_history):
        for row, content in await read_contents(connection, tenant, table, ids):
            changed = change(content)
            if changed is None:
                continue
            await write_content(connection, tenant, table, row, changed)
            if table is tables.record:
                changes.append(Change(kind=Kind.RECORD, id=row["id"], version=row["row_version"] + 1))
    return changes


async def contents_of(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]
) -> dict[UUID, tuple[MemoryType, dict[str, Any]]]:
    """Return the type and the current, decrypted content of records, keyed by id. Missing records are left out."""
    found = await read_contents(connection, tenant, tables.record, ids)
    return {row["id"]: (MemoryType(row["type"]), content) for row, content in found}


async def read_contents(
    connection: AsyncConnection, tenant: Tenant, table: Table, ids: Collection[UUID]
) -> list[tuple[Row, dict[str, Any]]]:
    """Return the rows of the records `ids` in `record` or `record_history`, each with its decrypted content."""
    fields = [table.c[name] for name in FIELDS]
    statement = select(table.c.id, table.c.row_version, table.c.type, table.c.sealed, *fields).where(
        table.c.tenant == tenant.id, table.c.id == text("ANY(:ids)").bindparams(ids=list(ids))
    )
    rows = (await connection.execute(statement)).mappings().all()
    contents = await open_contents(tenant.keyring, rows)
    return [
        (row, {name: row[name] for name in FIELDS} if content is None else content)
        for row, content in zip(rows, contents, strict=True)
    ]


async def write_content(
    connection: AsyncConnection, tenant: Tenant, table: Table, row: Row, content: Mapping[str, Any]
) -> None:
    """Write the content of one row that `read_contents` returned, encrypted if the row was.

    In `record` this advances `row_version` by one and deletes the vectors of the former text.
    """
    if row["sealed"] is None:
        columns = plain_columns(content)
    else:
        columns = sealed_columns(await tenant.keyring.sealer(connection), row["id"], content)
    values = {name: null() if value is None else value for name, value in columns.items()}
    if table is tables.record:
        values["row_version"] = table.c.row_version + 1
        vectors = tables.embedding
        await connection.execute(delete(vectors).where(vectors.c.tenant == tenant.id, vectors.c.id == row["id"]))
    await connection.execute(
        update(table)
        .where(table.c.tenant == tenant.id, table.c.id == row["id"], table.c.row_version == row["row_version"])
        .values(**values)
    )
