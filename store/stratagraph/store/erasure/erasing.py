"""What goes when something must not be kept, and how every trace of it goes (SPEC §2, design decision 19).

With a record goes what was derived from it alone, through any number of steps; with an episode its members; with the
last thing that named an entity, the entity that was made for it. What stays is rewritten where our own code has copied
something of it: in provenance, evidence and interpretation, in the caption of a closed episode, and in all they were.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import RowMapping, Table, delete, null, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.consumer import Change, Kind
from stratagraph.store.keys.sealing.contents import CANDIDATE, FIELDS, note, opened, plain, sealed
from stratagraph.store.keys.sealing.vault import Sealed
from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.model.words import query_terms
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.queries import fetch, query
from stratagraph.store.records.support import references
from stratagraph.store.records.tombstones import Cause
from stratagraph.store.records.writing import handle_key

CHUNK = 20_000  # rows of one table deleted in one statement
_CAPTURE = re.compile(r"candidate:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HANDLED = (MemoryType.EPISODIC, MemoryType.WORKING, MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH)


@dataclass(frozen=True, slots=True)
class ErasureClosure:
    """`going` is all that goes; `survivors` were derived from some of it and have other support."""

    going: frozenset[UUID]
    survivors: frozenset[UUID]


async def erasure_closure(
    connection: AsyncConnection, tenant: Tenant, seeds: Collection[UUID], *, whole: bool
) -> ErasureClosure:
    """What goes with `seeds`. With `whole`, episodes go with their members, and those without any left go too."""
    going, survivors = set(seeds), frozenset[UUID]()
    while True:
        before = len(going)
        if whole:
            going |= await _ids(connection, "erase_members", tenant, going)
            going |= await _ids(connection, "erase_emptied", tenant, going)
        unsupported, survivors = await _derived(connection, tenant, going)
        going |= unsupported
        going |= await _orphans(connection, tenant, going)
        if len(going) == before:
            return ErasureClosure(frozenset(going), survivors)


async def _ids(connection: AsyncConnection, statement: str, tenant: Tenant, ids: Collection[UUID]) -> set[UUID]:
    return {row["id"] for row in await fetch(connection, statement, tenant=tenant.id, ids=list(ids))}


async def _derived(
    connection: AsyncConnection, tenant: Tenant, going: Collection[UUID]
) -> tuple[set[UUID], frozenset[UUID]]:
    """What rests on nothing but `going`, and what rests on something else besides. Records that merely hold each other
    rest on nothing."""
    found: dict[UUID, set[UUID | str]] = {}
    frontier = set(going)
    while frontier:
        known = [*going, *found]
        rows = await fetch(connection, "erase_dependents", tenant=tenant.id, ids=list(frontier), known=known)
        for row, content in zip(rows, await opened(tenant.keyring, rows), strict=True):
            provenance = row["provenance"] if content is None else content["provenance"]
            found[row["id"]] = (references(provenance) | set(row["sources"])) - {row["id"]}
        frontier = {row["id"] for row in rows}
    named = {source for sources in found.values() for source in sources if isinstance(source, UUID)}
    nothing = set(going) | await _ids(connection, "erase_invalid_references", tenant, named) if found else set()
    grounded: set[UUID] = set()
    growing = True
    while growing:
        new = {
            id_
            for id_, sources in found.items()
            if id_ not in grounded and any(s not in nothing and (s not in found or s in grounded) for s in sources)
        }
        grounded |= new
        growing = bool(new)
    return found.keys() - grounded, frozenset(grounded)


async def _orphans(connection: AsyncConnection, tenant: Tenant, going: Collection[UUID]) -> set[UUID]:
    """Entities that nothing names any more, where all that they came from goes or has gone."""
    rows = await fetch(connection, "erase_orphans", tenant=tenant.id, ids=list(going))
    if not rows:
        return set()
    traces = await find_traces(connection, tenant, going)
    refs = {
        row["id"]: _refs(row["provenance"] if content is None else content["provenance"])
        for row, content in zip(rows, await opened(tenant.keyring, rows), strict=True)
    }
    named = {ref for of_one in refs.values() for ref in of_one if _CAPTURE.fullmatch(ref)}
    found = await fetch(
        connection,
        "erase_captures",
        tenant=tenant.id,
        candidates=[UUID(ref.removeprefix("candidate:")) for ref in named],
        ids=list(going),
    )
    gone = named - {f"candidate:{row['id']}" for row in found}
    return {
        row["id"] for row in rows if row["made"] or all(ref in gone or traces.names(ref) for ref in refs[row["id"]])
    }


def _refs(provenance: Mapping[str, Any] | None) -> list[str]:
    return [source["ref"] for source in (provenance or {}).get("sources", ())]


@dataclass(frozen=True, slots=True)
class Traces:
    """By what other records may name those that go."""

    tenant: Tenant
    ids: frozenset[str]
    handles: frozenset[bytes]

    def names(self, ref: object) -> bool:
        if not isinstance(ref, str):
            return False
        if ref.lower() in self.ids or ref in self.ids:
            return True
        return any(handle_key(self.tenant, kind, ref) in self.handles for kind in _HANDLED) if self.handles else False

    def strip(self, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """The content without what it has of them; None where it has nothing."""
        stripped = dict(content)
        payload, said = content["payload"], content["interpretation"]
        if isinstance(content["provenance"], dict):
            stripped["provenance"] = self._without(content["provenance"], "sources", ("ref",))
        if isinstance(payload, dict):
            stripped["payload"] = self._without(payload, "evidence", ("source_id", "ref"))
            revision = payload.get("revision")
            if isinstance(revision, dict):
                kept = {key: value for key, value in revision.items() if not self.names(value)}
                stripped["payload"] = {**stripped["payload"], "revision": kept}
        if isinstance(said, dict):
            said = self._without(said, "mentions", ("entity_id",))
            stripped["interpretation"] = self._without(said, "references", ("record_id", "ref"))
        return stripped if stripped != dict(content) else None

    def _without(self, part: Mapping[str, Any], key: str, fields: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(part.get(key), list):
            return dict(part)
        kept = [
            item
            for item in part[key]
            if not (isinstance(item, dict) and any(self.names(item.get(name)) for name in fields))
        ]
        return {**part, key: kept}


async def find_traces(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> Traces:
    rows = await fetch(connection, "erase_traces", tenant=tenant.id, ids=list(ids))
    named = {str(id_) for id_ in ids} | {f"candidate:{row['candidate']}" for row in rows if row["candidate"]}
    return Traces(tenant, frozenset(named), frozenset(bytes(row["handle"]) for row in rows if row["handle"]))


async def neighbours(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> set[UUID]:
    """Records that stay and may repeat something of `ids`."""
    return await _ids(connection, "erase_neighbours", tenant, ids)


async def rewrite(
    connection: AsyncConnection,
    tenant: Tenant,
    ids: Collection[UUID],
    change: Callable[[Mapping[str, Any]], dict[str, Any] | None],
) -> list[Change]:
    """Let locked records say what `change` makes of what they say, and of all they ever said; None leaves it.

    Not an edit: no history is kept of what was there before. Returns what the feed must say.
    """
    changes = []
    for table in (tables.record, tables.record_history):
        for row, content in await _contents(connection, tenant, table, ids):
            changed = change(content)
            if changed is None:
                continue
            if row["sealed"] is None:
                columns = plain(changed)
            else:
                columns = sealed(await tenant.keyring.sealer(connection), row["id"], changed)
            here = (table.c.tenant == tenant.id, table.c.id == row["id"], table.c.row_version == row["row_version"])
            values = {name: null() if value is None else value for name, value in columns.items()}
            if table is tables.record:
                values["row_version"] = table.c.row_version + 1
                changes.append(Change(kind=Kind.RECORD, id=row["id"], version=row["row_version"] + 1))
            await connection.execute(update(table).where(*here).values(**values))
    return changes


async def _contents(
    connection: AsyncConnection, tenant: Tenant, table: Table, ids: Collection[UUID]
) -> list[tuple[RowMapping, dict[str, Any]]]:
    fields = [table.c[name] for name in FIELDS]
    asked = select(table.c.id, table.c.row_version, table.c.type, table.c.sealed, *fields).where(
        table.c.tenant == tenant.id, table.c.id == text("ANY(:ids)").bindparams(ids=list(ids))
    )
    rows = (await connection.execute(asked)).mappings().all()
    held = await opened(tenant.keyring, rows)
    return [
        (row, {name: row[name] for name in FIELDS} if content is None else content)
        for row, content in zip(rows, held, strict=True)
    ]


async def contents_of(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]
) -> dict[UUID, tuple[MemoryType, dict[str, Any]]]:
    """What records say, with their type."""
    found = await _contents(connection, tenant, tables.record, ids)
    return {row["id"]: (MemoryType(row["type"]), content) for row, content in found}


async def lock_episodes_of(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]
) -> dict[UUID, tuple[int, bool]]:
    """The episodes that `ids` are or belong to, locked: their scope, and whether they are closed."""
    rows = await fetch(connection, "erase_lock_episodes", tenant=tenant.id, ids=list(ids))
    return {row["id"]: (row["scope"], row["closed"]) for row in rows}


async def recount_episodes(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> None:
    """After members went, let locked episodes end with those that are left."""
    if ids:
        await connection.execute(query("erase_recount_episodes"), {"tenant": tenant.id, "ids": list(ids)})


async def retell_episodes(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> None:
    """Let what closed episodes were read as they read now, after they were closed again without some members."""
    if not ids:
        return
    table = tables.record_history
    now = {}
    for row, content in await _contents(connection, tenant, tables.record, ids):
        now[row["id"]] = content
    rewritten = await fetch(connection, "erase_episode_words", tenant=tenant.id, ids=list(ids))
    versions = {(row["id"], row["row_version"]) for row in rewritten}
    for row, content in await _contents(connection, tenant, table, ids):
        if (row["id"], row["row_version"]) not in versions:
            continue  # still open then, and named after its thread alone
        told = {**content, "name": now[row["id"]]["name"], "text": now[row["id"]]["text"]}
        if row["sealed"] is None:
            columns = plain(told)
        else:
            columns = sealed(await tenant.keyring.sealer(connection), row["id"], told)
        await connection.execute(
            update(table)
            .where(table.c.tenant == tenant.id, table.c.id == row["id"], table.c.row_version == row["row_version"])
            .values({name: null() if value is None else value for name, value in columns.items()})
        )


async def count_records(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[str, int]:
    """How many there are of each type, as `records.<type>`."""
    return _by_type(await fetch(connection, "erase_types", tenant=tenant.id, ids=list(ids)))


async def count_all(connection: AsyncConnection, tenant: Tenant, scope: int | None) -> dict[str, int]:
    """The same of a whole scope, or with None of the tenant."""
    return _by_type(await fetch(connection, "erase_total", tenant=tenant.id, scope=scope))


def _by_type(rows: Sequence[RowMapping]) -> dict[str, int]:
    return {f"records.{MemoryType(row['type']).label}": row["records"] for row in rows}


async def count_belongings(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[str, int]:
    """How much goes with records by the foreign keys."""
    row = (await fetch(connection, "erase_counts", tenant=tenant.id, ids=list(ids)))[0]
    return dict(row)


async def erase_traces(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], candidates: Collection[UUID] = ()
) -> dict[str, int]:
    """Take away all that is kept of records beside them: rationales, captures, the log of answers, parked errors.

    `candidates` are failed captures that go as well. Returns how much went.
    """
    going = {"tenant": tenant.id, "ids": list(ids)}
    counts = {}
    for name, statement, more in (
        ("audit_notes", "erase_notes", {}),
        ("candidates", "erase_candidates", {"candidates": list(candidates)}),
        ("retrievals", "erase_retrievals", {}),
        ("parked_changes", "erase_dead_letters", {}),
    ):
        counts[name] = (await connection.execute(query(statement), {**going, **more})).rowcount
    return counts


async def erase_shared_notes(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], others: Collection[UUID]
) -> int:
    """Take away rationales of `others` that repeat one of `ids`: a revision writes the same on all it touches."""
    if not others:
        return 0
    own = await _notes(connection, tenant, ids)
    theirs = await _notes(connection, tenant, others)
    said: dict[object, list[str]] = {}
    for _, _, at, rationale in own:
        said.setdefault(at, []).append(rationale)
    gone = 0
    table = tables.audit_note
    for id_, seq, at, rationale in theirs:
        if any(one in rationale or rationale in one for one in said.get(at, ())):
            here = (table.c.tenant == tenant.id, table.c.id == id_, table.c.seq == seq)
            gone += (await connection.execute(delete(table).where(*here))).rowcount
    return gone


async def erase_notes_naming(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], says: Callable[[str], bool]
) -> int:
    """Take away those rationales of `ids` of which `says` is true."""
    table, gone = tables.audit_note, 0
    for id_, seq, _, rationale in await _notes(connection, tenant, ids) if ids else ():
        if says(rationale):
            here = (table.c.tenant == tenant.id, table.c.id == id_, table.c.seq == seq)
            gone += (await connection.execute(delete(table).where(*here))).rowcount
    return gone


async def _notes(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]
) -> list[tuple[UUID, int, object, str]]:
    notes, audit = tables.audit_note, tables.audit
    rows = (
        await connection.execute(
            select(notes.c.id, notes.c.seq, notes.c.rationale, notes.c.sealed, audit.c.at)
            .join(
                audit,
                (audit.c.tenant == notes.c.tenant) & (audit.c.id == notes.c.id) & (audit.c.seq == notes.c.seq),
            )
            .where(notes.c.tenant == tenant.id, notes.c.id == text("ANY(:ids)").bindparams(ids=list(ids)))
        )
    ).all()
    blobs = [Sealed(id=row.id, purpose=note(row.seq), blob=bytes(row.sealed)) for row in rows if row.sealed is not None]
    held = iter(await tenant.keyring.open(blobs)) if blobs else iter(())
    return [(row.id, row.seq, row.at, row.rationale if row.sealed is None else next(held).decode()) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCapture:
    """A capture that is kept for another try: what was sent, and to which scope it would go."""

    id: UUID
    input: dict[str, Any]
    scope: str


async def failed_captures(connection: AsyncConnection, tenant: Tenant) -> list[FailedCapture]:
    table, key = tables.candidate, tables.credential
    rows = (
        await connection.execute(
            select(table.c.id, table.c.actor, table.c.input, table.c.sealed).where(
                table.c.tenant == tenant.id, table.c.state == "failed"
            )
        )
    ).all()
    if not rows:
        return []
    keys = await connection.execute(
        select(key.c.name, key.c.scopes).where(key.c.tenant == tenant.id, key.c.all_scopes.is_(False))
    )
    scopes = {one.name: one.scopes[0] for one in keys if len(one.scopes) == 1}
    blobs = [Sealed(id=row.id, purpose=CANDIDATE, blob=bytes(row.sealed)) for row in rows if row.sealed is not None]
    held = iter(await tenant.keyring.open(blobs)) if blobs else iter(())
    found = []
    for row in rows:
        sent = (row.input if row.sealed is None else orjson.loads(next(held))["input"]) or {}
        # Without a scope it goes to its credential's only one, else to none (design decision 14).
        scope = sent.get("scope")
        found.append(
            FailedCapture(id=row.id, input=sent, scope=scopes.get(row.actor, UNSCOPED) if scope is None else scope)
        )
    return found


async def identities(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> set[UUID]:
    """The entity, and those that were merged with it; empty where it is no entity."""
    return {row["id"] for row in await fetch(connection, "erase_identities", tenant=tenant.id, id=entity)}


async def linked(connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID]) -> set[UUID]:
    return await _ids(connection, "erase_linked", tenant, entities)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Records and what they say. `complete` is False where there are more, or a name has no word to look for."""

    records: list[tuple[UUID, dict[str, Any]]]
    complete: bool


async def said_elsewhere(
    connection: AsyncConnection, tenant: Tenant, names: Collection[str], *, limit: int
) -> Elsewhere:
    """Records with all the words of one of `names`, newest first, at most `limit` of each, by the index of words."""
    found: dict[UUID, dict[str, Any]] = {}
    complete = True
    for name in sorted(names):
        terms = query_terms(tenant.index_key, name)
        if not terms:
            complete = False
            continue
        rows = await fetch(connection, "erase_elsewhere", tenant=tenant.id, terms=terms, limit=limit + 1)
        complete = complete and len(rows) <= limit
        for row, content in zip(rows, await opened(tenant.keyring, rows), strict=True):
            found[row["id"]] = {key: row[key] for key in FIELDS} if content is None else content
    return Elsewhere(list(found.items()), complete)


async def bury_again(connection: AsyncConnection, tenant: Tenant, id_: UUID) -> bool:
    """Of a record that went before, remember only that it must not be kept. False where nothing went by this id, or it
    was erased already."""
    table = tables.tombstone
    done = await connection.execute(
        update(table)
        .where(table.c.tenant == tenant.id, table.c.id == id_, table.c.cause != int(Cause.ERASED))
        .values(cause=int(Cause.ERASED))
    )
    return done.rowcount > 0


async def page(connection: AsyncConnection, tenant: Tenant, scope: int | None, *, limit: int) -> list[UUID]:
    """The next records of a scope, or with None of the tenant."""
    return [row["id"] for row in await fetch(connection, "erase_page", tenant=tenant.id, scope=scope, limit=limit)]


async def find_scope(connection: AsyncConnection, tenant: Tenant, name: str) -> int | None:
    table = tables.scope
    found: int | None = (
        await connection.execute(select(table.c.id).where(table.c.tenant == tenant.id, table.c.name == name))
    ).scalar_one_or_none()
    return found


async def erase_scope_leftovers(connection: AsyncConnection, tenant: Tenant, scope: int) -> dict[str, int]:
    """After a scope's last record: slots, counts, and what is kept of records that went from it long ago."""
    going = {"tenant": tenant.id, "scope": scope}
    counts = {
        "audit_notes": (await connection.execute(query("erase_scope_notes"), going)).rowcount,
        "candidates": (await connection.execute(query("erase_scope_candidates"), going)).rowcount,
    }
    for table in (tables.fact_slot, tables.lex_scope):
        done = await connection.execute(delete(table).where(table.c.tenant == tenant.id, table.c.scope == scope))
        counts[str(table.name)] = done.rowcount
    return counts


async def erase_candidates(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> int:
    table = tables.candidate
    return (
        await connection.execute(delete(table).where(table.c.tenant == tenant.id, table.c.id.in_(list(ids))))
    ).rowcount


async def remove_tenant_records(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> list[RowMapping]:
    """Rows of type and row_version that went; no tombstone stays, for nothing is left to derive them from."""
    return list(await fetch(connection, "erase_tenant_records", tenant=tenant.id, ids=list(ids)))


async def erase_tenant_table(connection: AsyncConnection, tenant: Tenant, table: Table) -> int:
    """Delete all that a tenant has in one table, in statements of bounded length."""
    gone = 0
    name = table.name
    while True:
        done = await connection.execute(
            text(
                f"DELETE FROM {name} WHERE ctid = ANY(ARRAY("  # noqa: S608 - a name of our own metadata
                f"SELECT ctid FROM {name} WHERE tenant = :tenant LIMIT :chunk)) AND tenant = :tenant"
            ),
            {"tenant": tenant.id, "chunk": CHUNK},
        )
        gone += done.rowcount
        if done.rowcount < CHUNK:
            return gone


async def lock_tenant(connection: AsyncConnection, tenant: Tenant) -> bool:
    """Let nobody begin to write for a tenant any more. False where it is gone."""
    table = tables.tenant
    return (
        await connection.execute(select(table.c.id).where(table.c.id == tenant.id).with_for_update())
    ).one_or_none() is not None


BEFORE_SCOPES = (tables.tombstone, tables.fact_slot)
AFTER_SCOPES = (
    tables.candidate,
    tables.retrieval,
    tables.audit_note,
    tables.predicate,
    tables.fact_predicate,
    tables.lex_df,
    tables.lex_stat,
    tables.lex_scope,
    tables.doc_counter,
    tables.sync_parked,
    tables.credential,
)


async def erase_tenant_leftovers(connection: AsyncConnection, tenant: Tenant) -> dict[str, int]:
    """All the rest of a locked tenant without records, and the tenant itself. A record that was written meanwhile
    fails this by a foreign key: whoever calls goes on with that first."""
    counts = {str(table.name): await erase_tenant_table(connection, tenant, table) for table in BEFORE_SCOPES}
    # Waits for whoever writes to one of them; nobody begins to afterwards, so what follows meets no new row.
    counts["scope"] = (
        await connection.execute(delete(tables.scope).where(tables.scope.c.tenant == tenant.id))
    ).rowcount
    counts |= {str(table.name): await erase_tenant_table(connection, tenant, table) for table in AFTER_SCOPES}
    keys = tables.data_key  # made anew since they were shredded, for what was written meanwhile
    await connection.execute(delete(keys).where(keys.c.tenant == tenant.id))
    await connection.execute(delete(tables.tenant).where(tables.tenant.c.id == tenant.id))
    counts["audit"] = 0
    while True:
        gone = (
            await connection.execute(text("SELECT forget_audit(:tenant, :most)"), {"tenant": tenant.id, "most": CHUNK})
        ).scalar_one()
        counts["audit"] += gone
        if gone < CHUNK:
            return counts


def erased_hash(tenant: Tenant, id_: UUID) -> bytes:
    """How a receipt names a record: by this, whoever has the id and the tenant's key finds it there."""
    return keyed_hash(tenant.index_key, "erased", id_.bytes)


@dataclass(slots=True)
class Tally:
    """What has gone so far."""

    counts: dict[str, int] = field(default_factory=dict)
    hashes: list[bytes] = field(default_factory=list)
    digest: bytes = bytes(32)

    def add(self, counts: Mapping[str, int]) -> None:
        for name, number in counts.items():
            if number:
                self.counts[name] = self.counts.get(name, 0) + number

    def note(self, hashes: Collection[bytes], *, most: int) -> None:
        """Remember the first `most` hashes, and all of them in the digest."""
        for one in sorted(hashes):
            self.digest = hashlib.sha256(self.digest + one).digest()
            if len(self.hashes) < most:
                self.hashes.append(one)
