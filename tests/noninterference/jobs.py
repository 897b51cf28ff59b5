"""What happens in a store besides requests: background jobs, pruning, imports, and requests that fail inside."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
from fix_jobs import learning_with_follow_ups_of, resources_of
from fix_learning import run_learning
from fix_memory import Memory
from noninterference.steps import Step

from stratagraph.consolidation.jobs.close_episodes import CloseEpisodes
from stratagraph.consolidation.jobs.retry_captures import RetryCaptures, RetryCapturesConfig
from stratagraph.memory.capture.failures import keep_failed
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.imports.traces import import_traces
from stratagraph.memory.propagation.queue import reevaluate_due
from stratagraph.memory.revise.linking import link_due
from stratagraph.store.erasure.pruning import prune_due
from stratagraph.store.model.enums import Sensitivity, SourceKind
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Role
from stratagraph.store.records.census import begin_census, count_page
from stratagraph.store.search.word_counts import WordCounter

AHEAD = timedelta(days=2)  # events and working records have faded by then, facts and entities have not


async def run_jobs(memory: Memory) -> None:
    """Run the background jobs that change what is remembered, apart from pruning."""
    resources = resources_of(memory)
    now = memory.clock.now()
    await RetryCaptures(resources, RetryCapturesConfig()).run_once(now)
    await CloseEpisodes(resources).run_once(now)
    await run_learning(memory, learning_with_follow_ups_of(memory))
    await link_due(memory.database, memory.directory, now=now, batch=100)
    await reevaluate_due(memory.database, memory.directory, now=now, batch=100)
    await WordCounter(memory.database).count_changes()
    await begin_census(memory.database, now)  # at once, since its pace depends on the clock of the machine
    await count_page(memory.database, limit=100_000, now=now)


async def prune(memory: Memory) -> None:
    """Prune what will have faded after AHEAD."""
    while True:
        async with memory.database.background(Role.ERASE) as connection:
            done = await prune_due(connection, memory.directory, now=memory.clock.now() + AHEAD, limit=1_000)
        if done.is_done:
            return


async def import_conversation(memory: Memory, trust: Trust, step: Step, *, scope: str, mark: str) -> Any:
    """Import a conversation; return the summary as JSON, or the error."""
    said = " ".join([*step["words"], mark]).strip()
    line = {"id": f"c{step['on'] % 3}", "messages": [{"role": "user", "content": said}]}
    with tempfile.TemporaryDirectory() as folder:
        try:
            summary = await import_traces(memory.capture, trust, _written(Path(folder), line), scope=scope)
        except StratagraphError as error:
            return {"code": error.code, "message": error.message}
    return orjson.loads(orjson.dumps(dataclasses.asdict(summary), default=str))


def _written(folder: Path, line: Any) -> Path:
    file = folder / "story.jsonl"
    file.write_bytes(orjson.dumps(line))
    return file


def turn(said: str, scope: str, sensitivity: Sensitivity) -> CaptureRequest:
    """Return the capture of a turn."""
    return CaptureRequest(
        source="test",
        source_kind=SourceKind.AGENT_TURN,
        content={"role": "user", "text": said},
        scope=scope,
        sensitivity=sensitivity,
    )


async def fail(memory: Memory, trust: Trust, requests: Sequence[CaptureRequest]) -> list[UUID]:
    """Keep the captures of a request as failed ones, as after an internal failure; return their ids."""
    caller = await memory.directory.resolve(trust)
    drafts = memory.capture._drafts(caller, requests, batch=True, now=memory.clock.now())
    await memory.directory.scopes(caller.tenant, {draft.scope for draft in drafts}, create=True)
    await keep_failed(memory.database, memory.directory, caller, drafts, OSError(), at=memory.clock.now())
    return [draft.candidate for draft in drafts]
