"""Measure how well retrieval finds the evidence of questions about long conversations, beside plain BM25.

Every turn is captured as one `agent_turn` of one thread, in order, with its date, over HTTP; each question is sent to
`retrieveGraph` as it is. Recall at k is the share of a question's evidence among the first k turns of the answer. Then
each signal of the ranking is switched off in turn, in this process, on a store of its own. The scenarios of the tests
are played and asked, too. With `--embedder`, a local model finds turns and the scenarios' records by their meaning too,
and the signals are measured with it and without. See benchmarks/README.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any
from uuid import UUID

import httpx
import typer
from conversations import DEPTHS, Conversation, Result, Turn, conversations, figures, placed, plain_bm25
from harness import Bound, Store, machine, progress, report, server, store, summary, trust
from scenarios import scenario_figures
from shipped_service import UNTHROTTLED, shipped_service

from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.embedding.filling import Filling
from stratagraph.memory.embedding.questions import LOWEST, QuestionEmbedder
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.retrieve.weights import WEIGHTS, Signal
from stratagraph.service.embedders.local_model import LocalModel
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.search.word_counts import WordCounter

BATCH = 50  # turns in one request
LIMIT = 100  # roots and nodes of an answer: over 50 of them must be turns
QUESTION_WAIT_S = 10.0  # for the vector of a question: how well questions are answered is measured, not how soon
CAPTURE = """mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) {
  ... on CaptureMemoriesSuccess { results { primaryRecord { id } } } ... on MemoryError { message } } }"""
ASK = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) {
  ... on RetrieveGraphSuccess { nothingKnown vectorFallback nodes { record { id } } }
  ... on MemoryError { message } } }"""


def _content(conversation: Conversation, turn: Turn) -> dict[str, str]:
    return {"role": turn.speaker, "text": turn.text, "thread_id": conversation.name}


def _sent(client: httpx.Client, document: str, given: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/graphql", json={"query": document, "variables": {"input": given}}).json()
    found: dict[str, Any] = next(iter(answer["data"].values()))
    if "message" in found:
        raise typer.BadParameter(found["message"])
    return found


def _settings(embedder: Path | None, lowest: float) -> dict[str, str]:
    """Return the settings of a service with the local model, or with none."""
    if embedder is None:
        return {}
    return {
        "embedder": "fastembed",
        "embedder_dir": str(embedder.absolute()),
        "embedder_lowest": str(lowest),
        "embedder_wait_s": str(QUESTION_WAIT_S),
    }


def _over_http(all_: Sequence[Conversation], embedder: Path | None, lowest: float) -> list[Result]:
    """Capture the conversations, each in a scope of its own, and ask their questions."""
    results = []
    with (
        shipped_service(UNTHROTTLED | _settings(embedder, lowest)) as service,
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
        # Else the rarity of words is that of a part of the turns.
        service.command("jobs", "run", "count-words", "--json")
        if embedder is not None:
            service.await_vectors()
        service.settle()
        bar = bars.add_task("ask", total=sum(len(one.questions) for one in all_))
        for one in all_:
            for question in one.questions:
                given = {"taskDescriptor": question.text, "scopes": [one.name], "rootLimit": LIMIT, "nodeLimit": LIMIT}
                began = perf_counter()
                found = _sent(client, ASK, given)
                took = (perf_counter() - began) * 1_000
                if found["vectorFallback"] is not None:
                    raise RuntimeError(f"a question was answered by words alone: {found['vectorFallback']}")
                order = [turns[node["record"]["id"]] for node in found["nodes"] if node["record"]["id"] in turns]
                results.append(placed(question, order, took_ms=took, nothing_known=found["nothingKnown"]))
                bars.advance(bar)
    return results


async def _by_signal(all_: Sequence[Conversation], embedder: Path | None, lowest: float) -> dict[str, Any]:
    """Return the figures with all signals, and without each of them, of all conversations and of each.

    So a value that is chosen on one conversation can be judged on another. Without an embedder there are no vectors to
    leave out; words are never left out.
    """
    usual = dict(WEIGHTS)
    found: dict[str, Any] = {}
    kept = {Signal.WORDS} | ({Signal.VECTORS} if embedder is None else set())
    with server() as url:
        async with AsyncExitStack() as stack:
            opened = await stack.enter_async_context(store(url, "signals"))
            turns = await _captured(opened, all_)
            by_words = Retrieve(opened.database, opened.directory, SystemClock(), Engines())
            usually = by_words
            if embedder is not None:
                model = await stack.enter_async_context(LocalModel(embedder))
                await _embed(opened, model)
                questions = QuestionEmbedder(opened.database, model, patience_s=QUESTION_WAIT_S, lowest=lowest)
                usually = Retrieve(opened.database, opened.directory, SystemClock(), Engines(), questions)
            for off in (None, *(signal for signal in Signal if signal not in kept)):
                WEIGHTS.update(usual if off is None else {**usual, off: 0.0})
                retrieve = by_words if off is Signal.VECTORS else usually
                by_conversation = {one.name: await _asked(retrieve, one, turns) for one in all_}
                found["all signals" if off is None else f"without {off}"] = {
                    "all": figures([result for results in by_conversation.values() for result in results])["all"],
                    **{name: figures(results)["all"] for name, results in by_conversation.items()},
                }
            WEIGHTS.update(usual)
    return found


async def _asked(retrieve: Retrieve, conversation: Conversation, turns: dict[UUID, str]) -> list[Result]:
    """Ask the questions of a conversation."""
    results = []
    for question in conversation.questions:
        request = RetrieveRequest(
            task_descriptor=question.text, scopes=(conversation.name,), root_limit=LIMIT, node_limit=LIMIT
        )
        answer = await retrieve.retrieve(trust(), request)
        if answer.vector_fallback is not None:
            raise RuntimeError(f"a question was answered by words alone: {answer.vector_fallback}")
        results.append(placed(question, [turns[node.record.id] for node in answer.nodes if node.record.id in turns]))
    return results


async def _embed(opened: Store, model: LocalModel) -> None:
    """Give every turn its vector, as the job `embed` does."""
    filling = Filling(opened.database, opened.directory.vault, model, owner="benchmark")
    while (await filling.batch(SystemClock().now())).more:
        pass


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
    embedder: Annotated[
        Path | None,
        typer.Option(help="Directory of a local model, as STRATAGRAPH_EMBEDDER_DIR.", exists=True, file_okay=False),
    ] = None,
    lowest: Annotated[
        float, typer.Option(help="Cosine similarity from which a turn is related to a question.", min=0, max=0.99)
    ] = LOWEST,
) -> None:
    all_ = list(conversations(directory))
    results = _over_http(all_, embedder, lowest)
    plain = figures([result for one in all_ for result in plain_bm25(one)])
    measured = figures(results)
    document: dict[str, Any] = {
        "retrieveGraph": measured,
        "plain_bm25": plain,
        "gain": {
            f"recall_at_{depth}": round(measured["all"][f"recall_at_{depth}"] - plain["all"][f"recall_at_{depth}"], 3)
            for depth in DEPTHS
        },
        "latency_ms": summary([one.took_ms for one in results]),
        "made_empty": sum(one.nothing_known for one in results),
        "least_turns_of_an_answer": min(one.turns for one in results if not one.nothing_known),
        "scenarios": scenario_figures(_settings(embedder, lowest)),
        "embedder": embedder.name if embedder is not None else None,
        "signals": asyncio.run(_by_signal(all_, embedder, lowest)) if signals else None,
    }
    bounds = [
        Bound(
            name=f"plain BM25's recall at {depth}, and 0.09, less that of retrieveGraph",
            value=round(0.09 - document["gain"][f"recall_at_{depth}"], 3),
            limit=0.0,
        )
        for depth in (10, 50)
    ]
    asked = document["scenarios"]
    bounds += [
        Bound(
            name="share of problems without their solution among 10 nodes",
            value=round(1 - asked["problems"]["among_10"] / asked["problems"]["asked"], 3),
            limit=0.2,
        ),
        Bound(
            name="share of unheard questions that get an answer",
            value=round(1 - asked["unheard"]["empty"] / asked["unheard"]["asked"], 3),
            limit=0.1,
        ),
    ]
    report("recall", document, bounds=bounds, machine=machine(None))


if __name__ == "__main__":
    typer.run(main)
