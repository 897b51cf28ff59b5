"""Verification of the audit log: untouched chains verify, and every kind of tampering is found and named.

Tampering uses raw SQL as the superuser, with triggers and foreign keys off, as an attacker with that access could.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_memory import NOON, Memory, trust_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import RowMapping, text

from stratagraph.store.audit import faults, verification
from stratagraph.store.audit.chain import link
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.audit.faults import Fault, Verification
from stratagraph.store.audit.verification import estimate_entries, verify_chains
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import AuditAction
from stratagraph.store.model.errors import InvalidInput, RecordNotFound
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.database import Database

Found = list[tuple[UUID, int, Fault]]


@pytest.fixture
def directory(database: Database) -> Directory:
    """A directory that encrypts only what a test requests."""
    return Directory(database, Vault(database, LocalMasterKey(b"m" * 32), seal_from=None))


async def tamper(memory: Memory, statement: str, **parameters: Any) -> None:
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("SET LOCAL session_replication_role = replica"))
        done = await connection.execute(text(statement), parameters)
        assert done.rowcount > 0, "nothing was tampered with"


async def verify(memory: Memory, **only: Any) -> Verification:
    return await verify_chains(memory.database, memory.directory.vault, **only)


async def problems(memory: Memory, **only: Any) -> Found:
    found = await verify(memory, **only)
    assert found.faults == len(found.problems)
    return [(problem.record, problem.seq, problem.fault) for problem in found.problems]


async def tenant_of(memory: Memory, name: str = "acme") -> Tenant:
    tenant = await memory.directory.tenant(name, create=True)
    assert tenant is not None
    return tenant


async def chain(memory: Memory, entries: int, *, tenant: str = "acme", rationale: str | None = "because {}") -> UUID:
    """Write an audit chain of `entries` entries for an id without a record, as after a deletion."""
    owner, record = await tenant_of(memory, tenant), new_id()
    for number in range(1, entries + 1):
        memory.clock.forward(timedelta(seconds=1))
        event = AuditEvent(
            record=record,
            action=AuditAction.CREATE if number == 1 else AuditAction.REINFORCE,
            rationale=rationale.format(number) if rationale else None,
            salience=1 / number,
        )
        async with memory.database.engine.begin() as connection:
            await write_audit(connection, owner, [event], actor=f"actor {number}", at=memory.clock.now())
    return record


async def entry(memory: Memory, record: UUID, seq: int) -> RowMapping:
    async with memory.database.engine.begin() as connection:
        rows = await connection.execute(
            text("SELECT * FROM audit WHERE id = :id AND seq = :seq"), {"id": record, "seq": seq}
        )
        return rows.mappings().one()


async def rehash(memory: Memory, record: UUID, seqs: Sequence[int], **changed: Any) -> bytes:
    """Recompute the hashes of these entries, with `changed` in the first, as a skilled attacker would."""
    previous = bytes((await entry(memory, record, seqs[0] - 1))["hash"])
    for seq in seqs:
        row = {**await entry(memory, record, seq), **changed}
        changed = {}
        event = (row["action"], row["actor"], row["at"], row["salience"], bytes(row["note_hash"]))
        previous = link(previous, tenant=row["tenant"], record=record, seq=seq, event=event)
        await tamper(
            memory,
            "UPDATE audit SET actor = :actor, hash = :hash WHERE id = :id AND seq = :seq",
            id=record,
            seq=seq,
            actor=row["actor"],
            hash=previous,
        )
    return previous


async def test_an_untouched_store_verifies(memory: Memory) -> None:
    await memory.observe("Alice", "prefers", "Go", revision_policy="replace")
    await memory.observe("Alice", "prefers", "Rust", revision_policy="replace")
    await memory.turn("hello", thread="t")
    await memory.turn("good bye", thread="t", trust=trust_of(tenant="other"))
    await chain(memory, 3)
    await chain(memory, 1, rationale=None)
    found = await verify(memory)
    assert found.whole
    assert found.problems == []
    async with memory.database.engine.begin() as connection:
        counted = await connection.execute(
            text("SELECT (SELECT count(*) FROM audit_head), (SELECT count(*) FROM audit), count(*) FROM audit_note")
        )
        assert (found.chains, found.entries, found.notes) == tuple(counted.one())
    assert found.notes > 3
    assert (found.notes_erased, found.notes_unopened) == (0, 0)


async def test_an_empty_store_verifies(memory: Memory) -> None:
    assert (await verify(memory)).whole
    assert await estimate_entries(memory.database) >= 0


TAMPERINGS = {
    "a changed actor": ("UPDATE audit SET actor = 'x' WHERE id = :id AND seq = 2", [(2, Fault.LINK)]),
    "a changed time": (
        "UPDATE audit SET at = at + interval '1 microsecond' WHERE id = :id AND seq = 3",
        [(3, Fault.LINK)],
    ),
    "a changed action": ("UPDATE audit SET action = 'delete' WHERE id = :id AND seq = 1", [(1, Fault.LINK)]),
    "a changed salience": ("UPDATE audit SET salience = salience / 3 WHERE id = :id AND seq = 4", [(4, Fault.LINK)]),
    "a salience taken away": ("UPDATE audit SET salience = NULL WHERE id = :id AND seq = 4", [(4, Fault.LINK)]),
    "a note hash removed": (
        "UPDATE audit SET note_hash = NULL WHERE id = :id AND seq = 2",
        [(2, Fault.LINK), (2, Fault.NOTE)],
    ),
    "a changed hash": (
        "UPDATE audit SET hash = sha256(hash) WHERE id = :id AND seq = 2",
        [(2, Fault.LINK), (3, Fault.LINK)],
    ),
    "the last hash changed": (
        "UPDATE audit SET hash = sha256(hash) WHERE id = :id AND seq = 5",
        [(5, Fault.LINK), (5, Fault.HEAD)],
    ),
    "the first removed": ("DELETE FROM audit WHERE id = :id AND seq = 1", [(1, Fault.GAP)]),
    "one in the middle removed": ("DELETE FROM audit WHERE id = :id AND seq = 3", [(3, Fault.GAP)]),
    "two in the middle removed": ("DELETE FROM audit WHERE id = :id AND seq IN (2, 3)", [(2, Fault.GAP)]),
    "the last removed": ("DELETE FROM audit WHERE id = :id AND seq = 5", [(5, Fault.HEAD)]),
    "all removed": ("DELETE FROM audit WHERE id = :id", [(5, Fault.NO_ENTRIES)]),
    "the head removed": ("DELETE FROM audit_head WHERE id = :id", [(5, Fault.NO_HEAD)]),
    "a forged head": ("UPDATE audit_head SET hash = sha256(hash) WHERE id = :id", [(5, Fault.HEAD)]),
    "a head further back": (
        "UPDATE audit_head SET seq = 4, hash = (SELECT hash FROM audit WHERE id = :id AND seq = 4) WHERE id = :id",
        [(4, Fault.HEAD)],
    ),
    "a changed rationale": ("UPDATE audit_note SET rationale = 'x' WHERE id = :id AND seq = 2", [(2, Fault.NOTE)]),
    "a changed salt": ("UPDATE audit_note SET salt = '' WHERE id = :id AND seq = 2", [(2, Fault.NOTE)]),
    "swapped notes": (
        "UPDATE audit_note n SET salt = o.salt, rationale = o.rationale FROM audit_note o"
        " WHERE n.id = :id AND o.id = :id AND n.seq IN (2, 4) AND o.seq = 6 - n.seq",
        [(2, Fault.NOTE), (4, Fault.NOTE)],
    ),
    "removed, and the rest moved up": (
        "WITH removed AS (DELETE FROM audit WHERE id = :id AND seq = 5 RETURNING *)"
        " UPDATE audit a SET actor = g.actor, at = g.at, hash = g.hash, note_hash = g.note_hash, salience = g.salience"
        " FROM removed g WHERE a.id = :id AND a.seq = 4",
        [(4, Fault.LINK), (4, Fault.NOTE), (5, Fault.HEAD)],
    ),
    "one put in at the end": (
        "INSERT INTO audit SELECT tenant, id, 6, action, actor, at, salience, NULL, sha256(hash) FROM audit"
        " WHERE id = :id AND seq = 5",
        [(6, Fault.LINK), (5, Fault.HEAD)],
    ),
}


async def test_tampering_is_found_and_named(memory: Memory) -> None:
    chains = {name: await chain(memory, 5) for name in TAMPERINGS}
    untouched = await chain(memory, 3)
    for name, (statement, _) in TAMPERINGS.items():
        await tamper(memory, statement, id=chains[name])
    found = {name: await problems(memory, record=record) for name, record in chains.items()}
    assert found == {
        name: [(chains[name], seq, fault) for seq, fault in expected] for name, (_, expected) in TAMPERINGS.items()
    }
    assert await problems(memory, record=untouched) == []
    assert await problems(memory) == [problem for name in chains for problem in found[name]]


async def test_an_entry_moved_to_another_record_is_found_in_both_chains(memory: Memory) -> None:
    record, other = await chain(memory, 5), await chain(memory, 2)
    await tamper(memory, "UPDATE audit SET id = :other WHERE id = :id AND seq = 3", id=record, other=other)
    assert await problems(memory) == [(record, 3, Fault.GAP), (other, 3, Fault.LINK), (other, 2, Fault.HEAD)]


async def test_an_entry_with_a_recomputed_hash_is_found_at_the_next_entry(memory: Memory) -> None:
    record = await chain(memory, 5)
    await rehash(memory, record, [3], actor="somebody else")
    assert await problems(memory) == [(record, 4, Fault.LINK)]


async def test_a_last_entry_with_a_recomputed_hash_is_found_at_the_head(memory: Memory) -> None:
    record = await chain(memory, 5)
    await rehash(memory, record, [5], actor="somebody else")
    assert await problems(memory) == [(record, 5, Fault.HEAD)]


async def test_a_chain_recomputed_up_to_its_head_is_not_found(memory: Memory) -> None:
    """All hashes from the change on are recomputed, and the head too: documented as undetectable."""
    record = await chain(memory, 5)
    last = await rehash(memory, record, [3, 4, 5], actor="somebody else")
    assert await problems(memory) == [(record, 5, Fault.HEAD)]
    await tamper(memory, "UPDATE audit_head SET hash = :hash WHERE id = :id", id=record, hash=last)
    assert await problems(memory) == []


async def test_a_record_without_any_audit_is_found(memory: Memory) -> None:
    made = (await memory.turn("hello")).primary.id
    await tamper(memory, "DELETE FROM audit WHERE id = :id", id=made)
    assert await problems(memory) == [(made, 1, Fault.NO_ENTRIES)]
    await tamper(memory, "DELETE FROM audit_head WHERE id = :id", id=made)
    assert await problems(memory) == [(made, 0, Fault.UNAUDITED)]
    assert await problems(memory, record=made) == [(made, 0, Fault.UNAUDITED)]


async def test_an_erased_rationale_leaves_its_chain_valid(memory: Memory) -> None:
    record = await chain(memory, 4)
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("DELETE FROM audit_note WHERE id = :id AND seq IN (1, 3)"), {"id": record})
    found = await verify(memory)
    assert found.whole
    assert (found.notes, found.notes_erased) == (2, 2)


async def test_a_chain_copied_to_another_tenant_is_found(memory: Memory) -> None:
    """After an import, two tenants may have the same record id. Each has its own chain and head."""
    record = await chain(memory, 2)
    beta = await tenant_of(memory, "beta")
    await tamper(memory, "INSERT INTO audit_head SELECT :beta, id, seq, hash FROM audit_head", beta=beta.id)
    await tamper(
        memory,
        "INSERT INTO audit SELECT :beta, id, seq, action, actor, at, salience, note_hash, hash FROM audit",
        beta=beta.id,
    )
    assert await problems(memory, tenant="acme") == []
    copied = [(record, 1, Fault.LINK), (record, 2, Fault.LINK)]
    assert await problems(memory, tenant="beta") == copied
    assert await problems(memory) == copied
    assert await problems(memory, record=record) == copied


async def test_an_erased_tenant_is_named_by_its_number(memory: Memory) -> None:
    record = await chain(memory, 2, tenant="beta")
    beta = await tenant_of(memory, "beta")
    await tamper(memory, "DELETE FROM tenant WHERE id = :id", id=beta.id)
    await tamper(memory, "UPDATE audit SET actor = 'x' WHERE id = :id AND seq = 1", id=record)
    found = await verify(memory)
    assert [(problem.tenant, problem.record) for problem in found.problems] == [(f"#{beta.id}", record)]


async def test_an_unknown_tenant_or_record_is_an_error(memory: Memory) -> None:
    await chain(memory, 1)
    with pytest.raises(InvalidInput, match="no tenant 'acne'"):
        await verify(memory, tenant="acne")
    with pytest.raises(InvalidInput, match="no tenant 'acne'"):
        await estimate_entries(memory.database, tenant="acne")
    with pytest.raises(RecordNotFound):
        await verify(memory, record=new_id())


async def test_chains_that_span_pages_are_verified(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """With pages of three rows, chains and heads span pages, and the same faults are found."""
    monkeypatch.setattr(verification, "PAGE", 3)
    records = [await chain(memory, entries) for entries in (1, 2, 3, 4, 5, 6, 7, 1, 1, 1, 1)]
    progress: list[int] = []
    found = await verify_chains(memory.database, memory.directory.vault, advance=progress.append)
    assert found.whole
    assert (found.chains, found.entries, sum(progress)) == (11, 32, 32)
    assert max(progress) == 3
    await tamper(memory, "DELETE FROM audit WHERE id = :id", id=records[3])
    await tamper(memory, "DELETE FROM audit_head WHERE id = :id", id=records[5])
    await tamper(memory, "DELETE FROM audit WHERE id = :id", id=records[10])
    await tamper(memory, "UPDATE audit SET actor = 'x' WHERE id = :id AND seq = 7", id=records[6])
    assert await problems(memory) == [
        (records[3], 4, Fault.NO_ENTRIES),
        (records[5], 6, Fault.NO_HEAD),
        (records[6], 7, Fault.LINK),
        (records[10], 1, Fault.NO_ENTRIES),
    ]


async def test_the_list_of_problems_is_bounded_and_their_count_is_exact(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "MAX_PROBLEMS", 2)
    await chain(memory, 5)
    await tamper(memory, "UPDATE audit SET actor = 'x'")
    found = await verify(memory)
    assert (found.faults, len(found.problems), found.whole) == (5, 2, False)


async def test_the_estimated_number_of_entries_is_close(memory: Memory) -> None:
    for _ in range(5):
        await chain(memory, 10)
    await chain(memory, 3, tenant="beta")
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("ANALYZE audit"))
    assert await estimate_entries(memory.database) == 53
    assert await estimate_entries(memory.database, tenant="acme") in range(45, 54)
    assert await estimate_entries(memory.database, record=new_id()) <= 20


async def sealed_chain(memory: Memory, entries: int) -> UUID:
    owner, record = await tenant_of(memory), new_id()
    async with memory.database.engine.begin() as connection:
        for number in range(entries):
            event = AuditEvent(record=record, action=AuditAction.REVISE, rationale=f"secret {number}")
            await write_audit(connection, owner, [event], actor="a", at=memory.clock.now(), sealed=[record])
    async with memory.database.engine.begin() as connection:
        sealed = await connection.execute(
            text("SELECT count(*) FROM audit_note WHERE id = :id AND sealed IS NOT NULL"), {"id": record}
        )
        assert sealed.scalar_one() == entries
    return record


async def test_sealed_rationales_are_compared_where_their_key_exists(memory: Memory) -> None:
    record = await sealed_chain(memory, 3)
    found = await verify(memory)
    assert (found.whole, found.notes, found.notes_unopened) == (True, 3, 0)
    without = await verify_chains(memory.database, Vault(memory.database))
    assert (without.whole, without.notes, without.notes_unopened) == (True, 0, 3)
    await tamper(memory, "DELETE FROM data_key")
    fresh = Vault(memory.database, memory.directory.vault.master)
    shredded = await verify_chains(memory.database, fresh)
    assert (shredded.whole, shredded.notes, shredded.notes_unopened) == (True, 0, 3)
    await tamper(memory, "UPDATE audit SET at = at + interval '1 s' WHERE id = :id AND seq = 1", id=record)
    still = await verify_chains(memory.database, fresh)
    assert [problem.fault for problem in still.problems] == [Fault.LINK]


async def test_sealed_rationales_that_were_swapped_or_changed_are_found(memory: Memory) -> None:
    record = await sealed_chain(memory, 5)
    await tamper(
        memory,
        "UPDATE audit_note n SET salt = o.salt, sealed = o.sealed FROM audit_note o"
        " WHERE n.id = :id AND o.id = :id AND n.seq IN (1, 2) AND o.seq = 3 - n.seq",
        id=record,
    )
    await tamper(memory, "UPDATE audit_note SET sealed = 'x' WHERE id = :id AND seq = 3", id=record)
    await tamper(memory, "UPDATE audit_note SET salt = 'x' WHERE id = :id AND seq = 4", id=record)
    assert await problems(memory) == [(record, seq, Fault.NOTE) for seq in (1, 2, 3, 4)]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_change_of_an_entry_changes_its_hash(data: st.DataObject) -> None:
    fields: dict[str, st.SearchStrategy[Any]] = {
        "previous": st.binary(min_size=32, max_size=32),
        "tenant": st.integers(1, 9),
        "seq": st.integers(1, 9),
        "record": st.uuids(),
        "action": st.sampled_from([action.value for action in AuditAction]),
        "actor": st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4),
        "at": st.integers(0, 10**6),
        "salience": st.none() | st.floats(0, 1),
        "note_hash": st.none() | st.binary(min_size=32, max_size=32),
    }
    entry_fields = {name: data.draw(strategy) for name, strategy in fields.items()}
    name = data.draw(st.sampled_from(sorted(fields)))
    other = {
        **entry_fields,
        name: data.draw(fields[name].filter(lambda value: repr(value) != repr(entry_fields[name]))),
    }
    assert hashed(**entry_fields) == hashed(**entry_fields)
    assert hashed(**entry_fields) != hashed(**other)


def hashed(
    *,
    previous: bytes,
    tenant: int,
    seq: int,
    record: UUID,
    action: str,
    actor: str,
    at: int,
    salience: float | None,
    note_hash: bytes | None,
) -> bytes:
    instant = NOON + timedelta(microseconds=at)
    made = link(previous, tenant=tenant, record=record, seq=seq, event=(action, actor, instant, salience, note_hash))
    assert len(made) == hashlib.sha256().digest_size
    return made
