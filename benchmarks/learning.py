"""Measure how well what was learned from known tasks answers unseen ones, beside simpler methods in the same run.

Each FOLDER is a domain: its `*.jsonl` have one trace a line, as `stratagraph import traces` reads them. Files whose
name has `dev`, `test` or `unseen` are met, the others are learned from. A folder with known files alone is met fold by
fold: by `trial` where the traces have several (all of one trial are known, the successful ones of the next are met),
and else every fifth task by what the others teach. Of each unseen task its instruction is asked for
(`memoryTypes: [COMPETENCE, PLAN_GRAPH]`, `rootLimit: 3`), and the tools of the answers are compared with those that the
reference used: exactly right at first and among three, and F1 of the first. See benchmarks/README.md, Learning.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import orjson
import typer
from harness import Bound, Store, machine, progress, report, server, store, trust

from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.imports.traces import import_traces
from stratagraph.memory.learning.procedures.confidence import wilson_interval
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stages import build_stages
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.words import idf, record_terms
from stratagraph.store.search.word_counts import WordCounter

INDEX_KEY = bytes(32)  # of the words of the baselines, which are stored nowhere
MET = ("dev", "test", "unseen")  # in the name of a file whose tasks are met
FOLDS = 5
STEPS = 400  # of the gradient descent of the baseline per tool
Tools = frozenset[str]
Method = Callable[[Sequence["Trace"], Sequence["Trace"]], "list[list[Tools]]"]


@dataclass(frozen=True, slots=True)
class Trace:
    """One line of a file: its task and trial, whether it succeeded, its tools, and what the user said."""

    line: bytes
    task: str
    trial: int
    succeeded: bool
    instruction: str
    tools: Tools
    said: str


@dataclass(frozen=True, slots=True)
class Fold:
    """Traces that are learned from, and traces whose tasks are met."""

    domain: str
    known: Sequence[Trace]
    met: Sequence[Trace]


def read(path: Path) -> list[Trace]:
    """Return the traces of a file."""
    found = []
    for line in path.read_bytes().splitlines():
        one = orjson.loads(line)
        calls = [call for message in one["messages"] for call in message.get("tool_calls") or ()]
        said = [message["content"] for message in one["messages"] if message["role"] == "user"]
        found.append(
            Trace(
                line=line,
                task=str(one["task_id"]),
                trial=int(one.get("trial", 0)),
                succeeded=one.get("reward", 1) == 1,
                instruction=one["task"]["instruction"],
                tools=frozenset(call["function"]["name"] for call in calls),
                said="\n".join(text for text in said if isinstance(text, str)),
            )
        )
    return found


def folds_of(folder: Path) -> list[Fold]:
    """Return what is learned from and met of a domain."""
    files = sorted(folder.glob("*.jsonl"))
    met = [path for path in files if any(word in path.stem for word in MET)]
    known = [trace for path in files if path not in met for trace in read(path)]
    if not known:
        raise typer.BadParameter(f"{folder} has no *.jsonl to learn from")
    if met:
        unseen = [trace for path in met for trace in read(path) if trace.succeeded and trace.tools]
        return [Fold(folder.name, known, unseen)]
    trials = sorted({one.trial for one in known})
    if len(trials) > 1:
        pairs = [(trials[at - 1], trial) for at, trial in enumerate(trials)]
        return [
            Fold(
                folder.name,
                [one for one in known if one.trial == learned],
                [one for one in known if one.trial == trial and one.succeeded and one.tools],
            )
            for learned, trial in pairs
        ]
    return [
        Fold(
            folder.name,
            [one for at, one in enumerate(known) if at % FOLDS != fold],
            [one for at, one in enumerate(known) if at % FOLDS == fold and one.succeeded and one.tools],
        )
        for fold in range(FOLDS)
    ]


class Learner:
    """A store that learns from sets of traces, each in a scope of its own."""

    def __init__(self, opened: Store) -> None:
        clock = SystemClock()
        self._opened = opened
        self._capture = Capture(opened.database, opened.directory, clock, Policy())
        self._learning = Learning(opened.database, opened.directory, clock, build_stages())
        self._retrieve = Retrieve(opened.database, opened.directory, clock, Engines())
        self.effects: dict[str, dict[str, str]] = {}
        self.composed = 0

    async def import_(self, scope: str, traces: Sequence[Trace]) -> None:
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            file.write(b"\n".join(one.line for one in traces) + b"\n")
            file.flush()
            await import_traces(self._capture, trust(), Path(file.name), scope=scope)

    async def learn(self) -> None:
        run = await self._learning.open_run(SystemClock().now())
        assert run is not None
        while await self._learning.run_batch(run) is not None:
            pass
        await self._learning.close_run(run)
        await WordCounter(self._opened.database).count_changes()

    async def ask(self, scope: str, task: str) -> list[Tools]:
        """Return the tools of the skills and plans found for a task, best first; note what their tools do."""
        request = RetrieveRequest(
            task_descriptor=task,
            memory_types=(MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH),
            scopes=(scope,),
            root_limit=3,
        )
        answer = await self._retrieve.retrieve(trust(), request)
        self.composed += answer.composed is not None
        payloads = {node.record.id: node.record.payload or {} for node in answer.nodes}
        plans = []
        for root in answer.roots:
            steps = [*payloads[root].get("recipe", ()), *payloads[root].get("nodes", ())]
            tools = {step.get("tool") or step["op"]: step.get("effect", "unknown") for step in steps}
            self.effects.setdefault(scope, {}).update(tools)
            plans.append(frozenset(tools))
        return plans


def nearest(known: Sequence[Trace], met: Sequence[Trace]) -> list[list[Tools]]:
    """Return the tools of the successful traces, those first whose users' words are nearest to the task, by BM25."""
    done = [one for one in known if one.succeeded]
    texts = [record_terms(INDEX_KEY, one.said) for one in done]
    frequencies = Counter(number for text in texts for number in text.numbers)
    found = []
    for task in met:
        asked = record_terms(INDEX_KEY, task.instruction).numbers
        weights = {number: idf(len(texts), frequencies[number]) for number in asked}
        scores = [
            sum(weights.get(number, 0.0) * impact for number, impact in zip(text.numbers, text.impacts, strict=True))
            for text in texts
        ]
        order = sorted(range(len(done)), key=lambda at: -scores[at])
        found.append(list(islice(dict.fromkeys(done[at].tools for at in order), 3)))
    return found


def most_frequent(known: Sequence[Trace], met: Sequence[Trace]) -> list[list[Tools]]:
    """Return the tools of the successful traces, those of most of them first."""
    counts = Counter(one.tools for one in known if one.succeeded)
    first = sorted(counts, key=lambda tools: (-counts[tools], sorted(tools)))[:3]
    return [first for _ in met]


def per_tool(known: Sequence[Trace], met: Sequence[Trace]) -> list[list[Tools]]:
    """Return the known sets of tools that are likeliest by one logistic model per tool over the words of tasks."""
    tools = sorted({tool for one in known for tool in one.tools})
    texts = [record_terms(INDEX_KEY, one.said).numbers for one in known]
    having = Counter(number for numbers in texts for number in numbers)
    column = {number: at for at, number in enumerate(sorted(having))}
    rarity = np.array([math.log((1 + len(texts)) / (1 + having[number])) + 1 for number in sorted(having)])

    def vectors(of: Iterable[Iterable[int]]) -> Any:
        rows = [[column[number] for number in numbers if number in column] for numbers in of]
        found = np.zeros((len(rows), len(column)))
        for at, columns in enumerate(rows):
            found[at, columns] = rarity[columns]
        return found / np.maximum(1e-9, np.linalg.norm(found, axis=1, keepdims=True))

    seen, used = vectors(texts), np.array([[tool in one.tools for tool in tools] for one in known], float)
    weights, bias = np.zeros((len(column), len(tools))), np.zeros(len(tools))
    for _ in range(STEPS):
        error = used - 1 / (1 + np.exp(-(seen @ weights + bias)))
        weights += 4.0 * (seen.T @ error / len(known) * 10 - 0.01 * weights)
        bias += error.mean(axis=0)
    asked = vectors(record_terms(INDEX_KEY, task.instruction).numbers for task in met)
    probable = np.clip(1 / (1 + np.exp(-(asked @ weights + bias))), 0.005, 0.995)
    sets = sorted({one.tools for one in known if one.succeeded}, key=sorted)
    members = np.array([[tool in one for tool in tools] for one in sets], float)
    scores = np.log(probable) @ members.T + np.log(1 - probable) @ (1 - members).T
    return [[sets[at] for at in np.argsort(-row, kind="stable")[:3]] for row in scores]


def share(hits: int, tried: int) -> dict[str, float]:
    """Return a share with its 95 % interval."""
    low, high = wilson_interval(hits, tried)
    return {"hits": hits, "of": tried, "share": hits / max(1, tried), "from": low, "to": high}


def f1(planned: Tools, wanted: Tools) -> float:
    """Return the F1 of the tools of a plan; 1 where neither has any."""
    both = len(planned) + len(wanted)
    return 2 * len(planned & wanted) / both if both else 1.0


Answer = tuple[Trace, list[Tools], Mapping[str, str]]


def without(effects: Mapping[str, str], effect: str) -> Tools:
    return frozenset(tool for tool, one in effects.items() if one == effect)


def figures(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the figures of answers, all tools but those that serve the agent alone compared.

    `changes` compares the tools that change state, for the tasks that do.
    """
    exact: Counter[str] = Counter()
    scores: dict[str, list[float]] = {"all": [], "changes": []}
    empty = 0
    for trace, plans, effects in answers:
        inner = without(effects, "internal")
        changing = without(effects, "changes")
        wanted = trace.tools - inner
        distinct = list(dict.fromkeys(tools - inner for tools in plans))
        empty += not plans
        exact["first"] += wanted in distinct[:1]
        exact["three"] += wanted in distinct[:3]
        scores["all"].append(f1(distinct[0], wanted) if distinct else 0.0)
        if trace.tools & changing:
            planned = (plans[0] if plans else frozenset()) & changing
            exact["changes"] += planned == trace.tools & changing
            scores["changes"].append(f1(planned, trace.tools & changing))
    document: dict[str, Any] = {
        "first": share(exact["first"], len(answers)),
        "among_three": share(exact["three"], len(answers)),
        "f1": mean_of(scores["all"]),
        "empty": empty,
    }
    if scores["changes"]:
        document["changes"] = {
            "first": share(exact["changes"], len(scores["changes"])),
            "f1": mean_of(scores["changes"]),
        }
    return document


def mean_of(values: Sequence[float]) -> dict[str, float]:
    """Return a mean with its 95 % interval, of the normal distribution."""
    found = np.array(values)
    half = 1.96 * float(found.std()) / math.sqrt(max(1, len(found)))
    mean = float(found.mean()) if len(found) else 0.0
    return {"mean": mean, "from": mean - half, "to": mean + half}


async def measure(folds: Sequence[Fold]) -> dict[str, Any]:
    methods: dict[str, Method] = {
        "nearest task": nearest,
        "most frequent set": most_frequent,
        "one model per tool": per_tool,
    }
    answers: dict[str, dict[str, list[Answer]]] = {}
    document: dict[str, Any] = {}
    with server() as url, progress() as bars:
        async with store(url, "learning") as opened:
            learner = Learner(opened)
            bar = bars.add_task("import and learn", total=len(folds) + 1)
            for at, fold in enumerate(folds):
                await learner.import_(f"fold:{at}", fold.known)
                bars.advance(bar)
            await learner.learn()
            bars.advance(bar)
            bar = bars.add_task("ask", total=sum(len(fold.met) for fold in folds))
            for at, fold in enumerate(folds):
                scope = f"fold:{at}"
                learner.composed = 0
                asked = []
                for one in fold.met:
                    asked.append((one, await learner.ask(scope, one.instruction)))
                    bars.advance(bar)
                effects = learner.effects.get(scope, {})
                rows = answers.setdefault(fold.domain, {})
                rows.setdefault("learned", []).extend((*pair, effects) for pair in asked)
                counts = document.setdefault(fold.domain, {"known": 0, "unseen": 0, "composed": 0})
                counts["known"] += len(fold.known)
                counts["unseen"] += len(fold.met)
                counts["composed"] += learner.composed
                for name, method in methods.items():
                    found = zip(fold.met, method(fold.known, fold.met), strict=True)
                    rows.setdefault(name, []).extend((*pair, effects) for pair in found)
    for domain, rows in answers.items():
        document[domain] |= {name: figures(found) for name, found in rows.items()}
    return document


def main(
    folders: Annotated[list[Path], typer.Argument(help="Folders of traces, each a domain.", exists=True)],
) -> None:
    found = asyncio.run(measure([fold for folder in folders for fold in folds_of(folder)]))
    bounds = [
        Bound(
            name=f"{domain}: F1 of the nearest task above that of the first answer",
            value=max(0.0, rows["nearest task"]["f1"]["mean"] - rows["learned"]["f1"]["mean"]),
            limit=0.0,
        )
        for domain, rows in found.items()
    ]
    report("learning", found, bounds=bounds, machine=machine(None))


if __name__ == "__main__":
    typer.run(main)
