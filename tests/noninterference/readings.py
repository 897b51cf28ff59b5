"""What a caller may read of a store; a reading notes its answers in the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any
from uuid import UUID

import orjson
from noninterference.stores import Bench, Store
from obstore.store import MemoryStore

from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.transfer.exports import ExportForm, ExportRequest, Exports
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.search.present import search_recent, search_recent_at
from stratagraph.store.search.word_index import WordIndex
from stratagraph.store.search.word_search import WordSearch, search_words, search_words_at

Json = dict[str, Any]
# Reads a store as after the step of the number; the ids are of records that the caller may not see.
Reading = Callable[[Store, Sequence[UUID], int], Coroutine[Any, Any, None]]
FEW = 4  # records that a search returns


async def exported(store: Store, _: Sequence[UUID], number: int) -> None:
    """Export everything in both forms, and a part of it by types."""
    memory = store.bench.memory
    store.bench.ids.begin(number)
    artifacts = Artifacts(memory.database, memory.directory, memory.clock, Blobs(MemoryStore()))
    exports = Exports(memory.database, memory.directory, memory.clock, artifacts)
    for request in (
        ExportRequest(),
        ExportRequest(form=ExportForm.RFC),
        ExportRequest(types=frozenset({MemoryType.SEMANTIC, MemoryType.ENTITY})),
    ):
        async with exports.open(store.sight.caller(store.tenant), request) as export:
            lines = [orjson.loads(line) async for chunk in export.chunks() for line in chunk.data.splitlines()]
        for line in lines:
            line.pop("tenant", None)  # of the two stores, which are two tenants
            if line.get("kind") == "end":
                del line["sha256"]  # over ids and instants, which are compared by their rank
        store.answers[f"export {request}"] = lines


def every_question(most: int, only: Collection[str] | None = None) -> Reading:
    """Ask `most` questions of each operation of the API, or with `only` of these, about the present."""

    async def read(store: Store, probes: Sequence[UUID], number: int) -> None:
        await store.ask_everything(probes, number, most=most, only=only)

    return read


def retrievals(requests: Sequence[Json], by_vectors: Bench | None = None) -> Reading:
    """Retrieve by each request, every other one `by_vectors`, and ask why a record is not in the answer."""

    async def read(store: Store, probes: Sequence[UUID], number: int) -> None:
        await store.ask_requests(requests, probes, number, by_vectors)

    return read


def searches(question: str, steps: Sequence[int], index: WordIndex) -> Reading:
    """Search words and recent records now and as of some steps, with all scores; and retrieve by the same words."""

    async def read(store: Store, _: Sequence[UUID], number: int) -> None:
        memory = store.bench.memory
        store.bench.ids.begin(number)
        caller = await memory.directory.resolve(store.sight.caller(store.tenant))
        now, instants = memory.clock.now(), [store.bench.ids.instant(step) for step in steps]
        asked: dict[str, Any] = {"types": tuple(MemoryType), "limit": FEW}
        async with memory.database.reading(caller.bounds) as connection:
            search = WordSearch(caller, question, **asked)
            scored = [
                await search_words(connection, index, caller, question, now=now, **asked),
                await search_words(connection, index, caller, question, now=now, history=True, **asked),
                *[(await search_words_at(connection, search, at=at))[0] for at in instants],
            ]
            recent = [
                await search_recent(connection, now=now, **asked),
                *[await search_recent_at(connection, at=at, **asked) for at in instants],
            ]
        store.answers["scores"] = [[[str(id_), score] for id_, score in found] for found in scored]
        store.answers["recent"] = [[str(id_) for id_ in found] for found in recent]
        for task in (question, f"{question} in the past 2 days"):
            for at in (None, *instants):
                given = {"taskDescriptor": task, "rootLimit": FEW, "maxHops": 0}
                given |= {} if at is None else {"asOf": at.isoformat()}
                store.answers[f"retrieve {given}"] = await store.bench.ask(
                    store.sight.caller(store.tenant), "Query", "retrieveGraph", {"input": given}
                )

    return read
