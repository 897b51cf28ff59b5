"""Learning in tests: episodes of threads, and runs over them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from fix_jobs import learning_of
from fix_memory import Memory
from sqlalchemy import text

from stratagraph.memory.learning.batches import BatchDone
from stratagraph.memory.learning.runs import ConsolidationRuns
from stratagraph.memory.learning.service import Learning
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.trust import Trust
from stratagraph.store.records.reading import Reader


async def capture_episode(
    memory: Memory, thread: str, outcome: str | None = "success", events: Sequence[str] = ("looked up",), **more: Any
) -> UUID:
    """Capture a closed episode of a thread: what the user asked, some events, a tool call, and its outcome; its id."""
    await memory.remember(SourceKind.AGENT_TURN, {"thread_id": thread, "role": "user", "text": f"Do {thread}"}, **more)
    for event in events:
        memory.clock.forward(timedelta(seconds=1))
        content = {"thread_id": thread, "event_kind": "step", "summary": event}
        await memory.remember(SourceKind.EVENT, content, **more)
    call = {"thread_id": thread, "tool_name": "search", "args": {"q": thread}, "result": {"found": 1}}
    kept = await memory.remember(SourceKind.TOOL_OUTPUT, call, **more)
    if outcome is not None:
        await memory.remember(SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": outcome}, **more)
    return next(edge.target for edge in kept.edges if edge.predicate == "part_of")


async def run_learning(memory: Memory, learning: Learning | None = None) -> list[BatchDone]:
    """Run learning until nothing is due, and return what each batch did."""
    learning = learning or learning_of(memory)
    done: list[BatchDone] = []
    while (run := await learning.open_run(memory.clock.now())) is not None:
        while (batch := await learning.run_batch(run)) is not None:
            done.append(batch)
        while (followed_up := await learning.run_follow_up(run)) is not None:
            done.append(followed_up)
        await learning.close_run(run)
    return done


async def learn(memory: Memory) -> UUID | None:
    """Run the stages of learning over all due episodes, none of which may fail; return the run, None without one."""
    learning = learning_of(memory)
    run = await learning.open_run(memory.clock.now())
    if run is None:
        return None
    while (done := await learning.run_batch(run)) is not None:
        assert done.set_aside == 0
    await learning.close_run(run)
    return run.id


def runs_of(memory: Memory) -> ConsolidationRuns:
    """Return the service that lists and undoes runs."""
    return ConsolidationRuns(memory.database, memory.directory, memory.clock)


async def stored_records(memory: Memory, trust: Trust | None = None) -> dict[UUID, tuple[Any, ...]]:
    """Return content, state and present salience of every record of the tenant, by id."""
    caller = (await memory.directory.resolve(trust or memory.trust)).unrestricted()
    async with memory.database.writing(caller.bounds) as connection:
        ids = (await connection.execute(text("SELECT id FROM record ORDER BY id"))).scalars().all()
        found = await Reader(connection, memory.directory, caller, memory.clock.now()).records(ids)
    return {
        id_: (
            record.type.label,
            record.state.label,
            record.name,
            record.text,
            record.payload,
            (record.provenance or {}).get("sources"),
            record.confidence,
            round(record.salience, 9),
        )
        for id_, record in found.items()
    }


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, order=True)
class Kept:
    """A record of a store without ids: what it is, in a text that equal records of two stores share."""

    what: str
    salience: float


async def store_at_rest(memory: Memory) -> tuple[list[Kept], list[str]]:
    """Return all records of a store, and all relations and marks on episodes, without ids; sorted."""
    records, others = [], []
    caller = (await memory.directory.resolve(memory.trust)).unrestricted()
    async with memory.database.writing(caller.bounds) as connection:
        for row in await connection.execute(
            text(
                "SELECT r.type, r.scope, r.sensitivity, r.state, r.confidence, r.name, r.text, r.payload,"
                " r.provenance -> 'sources' AS sources, r.provenance ->> 'created_by' AS author, r.version, s.s"
                " FROM record r JOIN salience s ON s.id = r.id"
            )
        ):
            *what, salience = row
            records.append(Kept(_anonymous(what), salience))
        for statement in (
            "SELECT s.text, p.name, t.text, e.weight, e.ended_at IS NULL FROM relation e JOIN record s"
            " ON s.id = e.source JOIN record t ON t.id = e.target JOIN predicate p ON p.id = e.predicate",
            "SELECT learned_stages, learned_at IS NULL, outcome FROM episode",
        ):
            others += [_anonymous(list(row)) for row in await connection.execute(text(statement))]
    return sorted(records), sorted(others)


def _anonymous(values: list[Any]) -> str:
    return _UUID.sub("<id>", orjson.dumps(values, option=orjson.OPT_SORT_KEYS, default=str).decode())
