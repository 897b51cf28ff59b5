"""Measure how well retrieval finds the evidence of questions about long conversations, beside plain BM25.

Every turn is captured as one `agent_turn` of one thread, in order, with its date, over HTTP; each question is sent to
`retrieveGraph` as it is. Recall at k is the share of a question's evidence among the first k turns of the answer. Then
each signal of the ranking is switched off in turn, in this process, on a store of its own. See
docs/retrieval-quality.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any
from uuid import UUID

import httpx
import typer
from conversations import DEPTHS, Conversation, Result, Turn, conversations, figures, placed, plain_bm25
from harness import Bound, Store, machine, progress, report, server, store, summary, trust
from shipped_service import shipped_service

from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve import rank
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.search.word_counts import WordCounter

BATCH = 50  # turns in one request
LIMIT = 100  # roots and nodes of an answer: over 50 of them must be turns
CAPTURE = """mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) {
  ... on CaptureMemoriesSuccess { results { primaryRecord { id } } } ... on MemoryError { message } } }"""
ASK = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) {
  ... on RetrieveGraphSuccess { nothingKnown nodes { record { id } } } ... on MemoryError { message } } }"""


def _content(conversation: Conversation, turn: Turn) -> dict[str, str]:
    return {"role": turn.speaker, "text": turn.text, "thread_id": conversation.name}


def _sent(client: httpx.Client, document: str, given: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/graphql", json={"query": document, "variables": {"input": given}}).json()
    found: dict[str, Any] = next(iter(answer["data"].values()))
    if "message" in found:
        raise typer.BadParameter(found["message"])
    return found


def _over_http(all_: Sequence[Conversation]) -> list[Result]:
    """Capture the conversations, each in a scope of its own, and ask their questions."""
    results = []
    with (
        shipped_service() as service,
        httpx.Client(base_url=service.url, timeout=60) as client,
        progress() as bars,
    ):
        turns: dict[str, str] = {}
        bar = bars.add_task("capture", total=sum(len(one.turns) for one in all_))
        for one in all_:
            for batch in one.batches(BATCH):
                items = [
                    {
                        "source": "benchmark",
                        "sourceKind": "AGENT_TURN",
                        "scope": one.name,
                        "timestamp": turn.at.isoformat(),
                        "content": _content(one, turn),
                    }
                    for turn in batch
                ]
                stored = _sent(client, CAPTURE, {"items": items})["results"]
                turns |= {new["primaryRecord"]["id"]: turn.id for new, turn in zip(stored, batch, strict=True)}
                bars.advance(bar, len(batch))
        service.settle()
        bar = bars.add_task("ask", total=sum(len(one.questions) for one in all_))
        for one in all_:
            for question in one.questions:
                given = {"taskDescriptor": question.text, "scopes": [one.name], "rootLimit": LIMIT, "nodeLimit": LIMIT}
                began = perf_counter()
                found = _sent(client, ASK, given)
                took = (perf_counter() - began) * 1_000
                order = [turns[node["record"]["id"]] for node in found["nodes"] if node["record"]["id"] in turns]
                results.append(placed(question, order, took_ms=took, nothing_known=found["nothingKnown"]))
                bars.advance(bar)
    return results


async def _by_signal(all_: Sequence[Conversation]) -> dict[str, Any]:
    """Return the figures with all signals, and without each of them."""
    usual = rank.WEIGHTS
    found: dict[str, Any] = {}
    with server() as url:
        async with store(url, "signals") as opened:
            turns = await _captured(opened, all_)
            retrieve = Retrieve(opened.database, opened.directory, SystemClock(), Engines())
            for off in (None, *(signal for signal in rank.Signal if signal is not rank.Signal.WORDS)):
                rank.WEIGHTS = usual if off is None else {**usual, off: 0.0}
                results = []
                for one in all_:
                    for question in one.questions:
                        request = RetrieveRequest(
                            task_descriptor=question.text, scopes=(one.name,), root_limit=LIMIT, node_limit=LIMIT
                        )
                        answer = await retrieve.retrieve(trust(), request)
                        order = [turns[node.record.id] for node in answer.nodes if node.record.id in turns]
                        results.append(placed(question, order))
                found["all signals" if off is None else f"without {off}"] = figures(results)["all"]
            rank.WEIGHTS = usual
            await retrieve.log.close()
    return found


async def _captured(opened: Store, all_: Sequence[Conversation]) -> dict[UUID, str]:
    capture = Capture(opened.database, opened.directory, SystemClock(), Policy())
    turns: dict[UUID, str] = {}
    for one in all_:
        for batch in one.batches(BATCH):
            requests = [
                CaptureRequest(
                    source="benchmark",
                    source_kind=SourceKind.AGENT_TURN,
                    content=_content(one, turn),
                    scope=one.name,
                    timestamp=turn.at,
                )
                for turn in batch
            ]
            stored = await capture.capture(trust(), requests)
            turns |= {new.primary.id: turn.id for new, turn in zip(stored, batch, strict=True)}
    await WordCounter(opened.database).count_changes()
    return turns


def main(
    directory: Annotated[Path, typer.Argument(help="Folder of conversations, one JSON file each.", exists=True)],
    signals: Annotated[bool, typer.Option(help="Also measure without each signal.")] = True,
) -> None:
    all_ = list(conversations(directory))
    results = _over_http(all_)
    plain = figures([result for one in all_ for result in plain_bm25(one)])
    measured = figures(results)
    document = {
        "retrieveGraph": measured,
        "plain_bm25": plain,
        "gain": {
            f"recall_at_{depth}": round(measured["all"][f"recall_at_{depth}"] - plain["all"][f"recall_at_{depth}"], 3)
            for depth in DEPTHS
        },
        "latency_ms": summary([one.took_ms for one in results]),
        "made_empty": sum(one.nothing_known for one in results),
        "least_turns_of_an_answer": min(one.turns for one in results if not one.nothing_known),
        "signals": asyncio.run(_by_signal(all_)) if signals else None,
    }
    bounds = [
        Bound(
            name=f"plain BM25's recall at {depth}, and 0.09, less that of retrieveGraph",
            value=round(0.09 - document["gain"][f"recall_at_{depth}"], 3),  # type: ignore[index]
            limit=0.0,
        )
        for depth in (10, 50)
    ]
    report("recall", document, bounds=bounds, machine=machine(None))


if __name__ == "__main__":
    typer.run(main)
