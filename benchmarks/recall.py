"""Measure how well retrieval finds the evidence of questions about conversations, beside BM25 with neighbours.

Each argument is a set: a file, or a folder of files. Every turn is captured as one `agent_turn` of one thread, in
order, with its date, over HTTP; each question is sent to `retrieveGraph` as it is. Recall at k is the share of a
question's evidence among the first k turns of the answer. Questions that nothing answers are asked, too: those of
category 5, and some of other conversations. The scenarios of the tests are played and asked.

Then, in this process, each signal of the ranking is switched off in turn, and some constants are changed. For each set,
those values are taken that are best on the other sets: the figure that they reach on it is `left_out`. With
`--embedder`, a local model finds turns and the scenarios' records by their meaning too. See benchmarks/README.md.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Annotated, Any
from unittest.mock import patch
from uuid import UUID

import httpx
import typer
from conversations import Conversation, Question, Result, Turn, bm25, conversations, figures, placed
from harness import Bound, Store, machine, progress, report, server, store, summary, trust
from scenarios import scenario_figures
from shipped_service import UNTHROTTLED, shipped_service

from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.embedding.filling import Filling
from stratagraph.memory.embedding.questions import LOWEST, QuestionEmbedder
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve import question as question_module
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.retrieve.signals import threads, vectors
from stratagraph.memory.retrieve.weights import WEIGHTS, Signal
from stratagraph.service.embedders.local_model import LocalModel
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.search.word_counts import WordCounter

BATCH = 50  # turns in one request
LIMIT = 100  # roots and nodes of an answer: over 50 of them must be turns
FOREIGN = 12  # questions of other sets that each conversation is asked
STRONG = 0.5  # strength of an answer that looks like one
QUESTION_WAIT_S = 10.0  # for the vector of a question: how well questions are answered is measured, not how soon
CAPTURE = """mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) {
  ... on CaptureMemoriesSuccess { results { primaryRecord { id } } } ... on MemoryError { message } } }"""
ASK = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) {
  ... on RetrieveGraphSuccess { nothingKnown vectorFallback nodes { strength record { id } } }
  ... on MemoryError { message } } }"""
DEPTHS = (10, 50)  # for which bounds are checked
# Values of constants from which those of a left-out set are chosen.
LENT = (0.3, 0.5, 0.7)  # NEXT
NAMES = (0.25, 0.5, 0.75)  # the weight of Signal.NAMES

Sets = Mapping[str, Sequence[Conversation]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The results of a set's questions, and the strengths of answers to questions that nothing answers."""

    results: list[Result]
    unanswerable: list[float]
    foreign: list[float]


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


def _over_http(sets: Sets, embedder: Path | None, lowest: float) -> dict[str, Answered]:
    """Capture the conversations, each in a scope of its own, and ask their questions."""
    all_ = [one for some in sets.values() for one in some]
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

        def ask(conversation: Conversation, text: str) -> tuple[dict[str, Any], float]:
            given = {"taskDescriptor": text, "scopes": [conversation.name], "rootLimit": LIMIT, "nodeLimit": LIMIT}
            began = perf_counter()
            found = _sent(client, ASK, given)
            if found["vectorFallback"] is not None:
                raise RuntimeError(f"a question was answered by words alone: {found['vectorFallback']}")
            return found, (perf_counter() - began) * 1_000

        def result(conversation: Conversation, question: Question) -> Result:
            found, took = ask(conversation, question.text)
            order = [turns[node["record"]["id"]] for node in found["nodes"] if node["record"]["id"] in turns]
            return placed(question, order, took_ms=took, nothing_known=found["nothingKnown"])

        def strength(conversation: Conversation, text: str) -> float:
            return max((node["strength"] for node in ask(conversation, text)[0]["nodes"]), default=0.0)

        bar = bars.add_task("ask", total=len(sets))
        answered = {}
        for name, some in sets.items():
            foreign = _foreign(sets, name)
            answered[name] = Answered(
                results=[result(one, question) for one in some for question in one.questions],
                unanswerable=[strength(one, text) for one in some for text in one.unanswerable],
                foreign=[strength(one, text) for one in some for text in foreign],
            )
            bars.advance(bar)
    return answered


def _foreign(sets: Sets, name: str) -> list[str]:
    """Return questions of other sets, at random but always the same."""
    others = [one for other, some in sets.items() if other != name for one in some]
    texts = [question.text for one in others for question in one.questions]
    return random.Random(name).sample(texts, min(FOREIGN, len(texts)))


def _variants(*, by_vectors: bool) -> Iterator[tuple[str, Mapping[Signal, float], float | None]]:
    """Yield what is changed: its name, the weights of signals, and NEXT. Words are never left out."""
    kept = {Signal.WORDS} | (set() if by_vectors else {Signal.VECTORS})
    yield "all signals", {}, None
    yield from ((f"without {signal}", {signal: 0.0}, None) for signal in Signal if signal not in kept)
    yield from ((f"lent {lent}, names {names}", {Signal.NAMES: names}, lent) for lent in LENT for names in NAMES)


@contextmanager
def _changed(weights: Mapping[Signal, float], lent: float | None) -> Iterator[None]:
    usual = dict(WEIGHTS)
    WEIGHTS.update(weights)
    changed = [patch.object(module, "NEXT", lent or module.NEXT) for module in (threads, vectors, question_module)]
    try:
        with changed[0], changed[1], changed[2]:
            yield
    finally:
        WEIGHTS.update(usual)


async def _in_process(sets: Sets, embedder: Path | None, lowest: float) -> dict[str, dict[str, list[Result]]]:
    """Return the results of each set in each variant of the ranking."""
    found: dict[str, dict[str, list[Result]]] = {}
    with server() as url:
        async with AsyncExitStack() as stack:
            opened = await stack.enter_async_context(store(url, "signals"))
            turns = await _captured(opened, [one for some in sets.values() for one in some])
            by_words = Retrieve(opened.database, opened.directory, SystemClock(), Engines())
            usually = by_words
            if embedder is not None:
                model = await stack.enter_async_context(LocalModel(embedder))
                await _embed(opened, model)
                questions = QuestionEmbedder(opened.database, model, patience_s=QUESTION_WAIT_S, lowest=lowest)
                usually = Retrieve(opened.database, opened.directory, SystemClock(), Engines(), questions)
            variants = list(_variants(by_vectors=embedder is not None))
            with progress() as bars:
                bar = bars.add_task("variants", total=len(variants))
                for name, weights, lent in variants:
                    retrieve = by_words if Signal.VECTORS in weights else usually
                    with _changed(weights, lent):
                        found[name] = {
                            each: [result for one in some for result in await _asked(retrieve, one, turns)]
                            for each, some in sets.items()
                        }
                    bars.advance(bar)
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


def _recall(results: Sequence[Result]) -> dict[str, float]:
    return {f"recall_at_{depth}": round(fmean(one.recall(depth) for one in results), 3) for depth in DEPTHS}


def _left_out(found: Mapping[str, Mapping[str, Sequence[Result]]]) -> dict[str, Any]:
    """Return for each set the constants that are best on the other sets, and what they reach on it."""
    recalls = {
        variant: {name: _recall(results) for name, results in by_set.items()}
        for variant, by_set in found.items()
        if not variant.startswith("without")
    }

    def quality(variant: str, name: str) -> float:
        return fmean(fmean(recall.values()) for other, recall in recalls[variant].items() if other != name)

    names = next(iter(recalls.values()))
    chosen = {name: max(recalls, key=lambda variant: quality(variant, name)) for name in names}
    return {name: {"chosen": variant} | recalls[variant][name] for name, variant in chosen.items()}


def _share(values: Sequence[float], least: float) -> float | None:
    return round(fmean(value >= least for value in values), 3) if values else None


def _of_set(some: Sequence[Conversation], answered: Answered) -> dict[str, Any]:
    return {
        "retrieveGraph": figures(answered.results),
        "bm25": figures([result for one in some for result in bm25(one)]),
        "bm25_with_neighbours": figures([result for one in some for result in bm25(one, neighbours=True)]),
        "made_empty": round(fmean(one.nothing_known for one in answered.results), 3),
        "unanswerable": {"asked": len(answered.unanswerable), "strong": _share(answered.unanswerable, STRONG)},
        "of_other_sets": {"asked": len(answered.foreign), "strong": _share(answered.foreign, STRONG)},
    }


def _gains(by_set: Mapping[str, dict[str, Any]], depth: int) -> list[float]:
    key = f"recall_at_{depth}"
    return [one["retrieveGraph"][key] - one["bm25_with_neighbours"][key] for one in by_set.values()]


def main(
    places: Annotated[
        list[Path], typer.Argument(help="Sets: files of conversations, or folders of them.", exists=True)
    ],
    variants: Annotated[bool, typer.Option(help="Also measure without each signal, and with other constants.")] = True,
    embedder: Annotated[
        Path | None,
        typer.Option(help="Directory of a local model, as STRATAGRAPH_EMBEDDER_DIR.", exists=True, file_okay=False),
    ] = None,
    lowest: Annotated[
        float, typer.Option(help="Cosine similarity from which a turn is related to a question.", min=0, max=0.99)
    ] = LOWEST,
) -> None:
    sets = {place.stem: conversations(place) for place in places}
    answered = _over_http(sets, embedder, lowest)
    by_set = {name: _of_set(some, answered[name]) for name, some in sets.items()}
    found = asyncio.run(_in_process(sets, embedder, lowest)) if variants else {}
    means = {
        of: {
            f"recall_at_{depth}": round(fmean(one[of][f"recall_at_{depth}"] for one in by_set.values()), 3)
            for depth in DEPTHS
        }
        for of in ("retrieveGraph", "bm25", "bm25_with_neighbours")
    }
    asked = scenario_figures(_settings(embedder, lowest))
    document: dict[str, Any] = {
        "sets": by_set,
        "mean_of_sets": means,
        "latency_ms": summary([one.took_ms for each in answered.values() for one in each.results]),
        "scenarios": asked,
        "embedder": embedder.name if embedder is not None else None,
        "variants": {
            variant: {name: _recall(results) for name, results in results_by_set.items()}
            for variant, results_by_set in found.items()
        },
        "left_out": _left_out(found) if variants and len(sets) > 1 else None,
    }
    least, least_mean = (0.0, 0.02) if embedder is None else (0.05, 0.08)
    bounds = [
        bound
        for depth in DEPTHS
        for bound in (
            Bound(
                name=f"least gain of a set over BM25 with neighbours at {depth}, missing",
                value=round(least - min(_gains(by_set, depth)), 3),
                limit=0.0,
            ),
            Bound(
                name=f"mean gain over BM25 with neighbours at {depth}, missing",
                value=round(least_mean - fmean(_gains(by_set, depth)), 3),
                limit=0.0,
            ),
        )
    ]
    unknown = [each for one in answered.values() for each in (*one.unanswerable, *one.foreign)]
    bounds += [
        Bound(
            name="largest share of a set's answerable questions made empty",
            value=max(one["made_empty"] for one in by_set.values()),
            limit=0.02,
        ),
        Bound(
            name="share of questions without an answer that get a strong one",
            value=_share(unknown, STRONG) or 0.0,
            limit=0.1,
        ),
        Bound(
            name="share of problems without their solution among 10 nodes",
            value=round(1 - asked["problems"]["among_10"] / asked["problems"]["asked"], 3),
            limit=0.2,
        ),
        Bound(
            name="share of unheard questions whose answer is not faint",
            value=round(1 - asked["unheard"]["faint"] / asked["unheard"]["asked"], 3),
            limit=0.1,
        ),
    ]
    report("recall", document, bounds=bounds, machine=machine(None))


if __name__ == "__main__":
    typer.run(main)
