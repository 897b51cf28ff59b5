"""Measure how well learned plans fit unseen tasks, beside the nearest trace and the most frequent plan.

The traces of one trial are imported and learned from; the tasks of the other trial's successful traces are asked for,
with their instruction as the task, and the other way round. A plan is right if it has the tools of the unseen trace.
Then each task is asked for where the task's own traces were left out, and the tools that change state are compared;
which do is learned as well. The limits say how far the traces agree with each other. See docs/learning.md.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

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

INDEX_KEY = bytes(32)  # of the words of the baseline, which are stored nowhere
Tools = frozenset[str]


@dataclass(frozen=True, slots=True)
class Trace:
    """One line of the file: its task and trial, whether it succeeded, its tools, and what the user said."""

    line: bytes
    task: int
    trial: int
    succeeded: bool
    instruction: str
    tools: Tools
    said: str


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
                task=one["task_id"],
                trial=one["trial"],
                succeeded=one["reward"] == 1,
                instruction=one["task"]["instruction"],
                tools=frozenset(call["function"]["name"] for call in calls),
                said="\n".join(said),
            )
        )
    return found


class Learner:
    """A store that learns from sets of traces, each in a scope of its own."""

    def __init__(self, opened: Store) -> None:
        clock = SystemClock()
        self._opened = opened
        self._capture = Capture(opened.database, opened.directory, clock, Policy())
        self._learning = Learning(opened.database, opened.directory, clock, build_stages())
        self._retrieve = Retrieve(opened.database, opened.directory, clock, Engines())
        self.effects: dict[str, dict[str, str]] = {}

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
            root_limit=10,
        )
        answer = await self._retrieve.retrieve(trust(), request)
        payloads = {node.record.id: node.record.payload or {} for node in answer.nodes}
        plans = []
        for root in answer.roots:
            steps = [*payloads[root].get("recipe", ()), *payloads[root].get("nodes", ())]
            tools = {step.get("tool") or step["op"]: step.get("effect", "unknown") for step in steps}
            self.effects.setdefault(scope, {}).update(tools)
            plans.append(frozenset(tools))
        return plans


def nearest(task: str, known: Sequence[Trace]) -> list[Tools]:
    """Return the tools of the successful traces, those first whose users' words are nearest to the task, by BM25."""
    texts = [record_terms(INDEX_KEY, one.said) for one in known]
    asked = record_terms(INDEX_KEY, task).numbers
    frequencies = Counter(number for text in texts for number in text.numbers)
    weights = {number: idf(len(texts), frequencies[number]) for number in asked}
    scored = [
        (sum(weights.get(number, 0.0) * impact for number, impact in zip(text.numbers, text.impacts, strict=True)), one)
        for text, one in zip(texts, known, strict=True)
        if one.succeeded
    ]
    return list(dict.fromkeys(one.tools for _, one in sorted(scored, key=lambda pair: -pair[0])))


def most_frequent(_: str, known: Sequence[Trace]) -> list[Tools]:
    """Return the tools of the successful traces, those of most of them first."""
    counts = Counter(one.tools for one in known if one.succeeded)
    return sorted(counts, key=lambda tools: (-counts[tools], sorted(tools)))


def share(hits: int, tried: int) -> dict[str, float]:
    """Return a share with its 95 % interval."""
    low, high = wilson_interval(hits, tried)
    return {"hits": hits, "of": tried, "share": hits / max(1, tried), "from": low, "to": high}


Found = Sequence[tuple[Trace, list[Tools], Mapping[str, str]]]


def internal(effects: Mapping[str, str]) -> Tools:
    """Return the tools that serve the agent alone."""
    return frozenset(tool for tool, effect in effects.items() if effect == "internal")


def figures(found: Found) -> dict[str, Any]:
    """Return how often the first plan, and one of the first three different ones, has the tools of the trace.

    `tools` compares all tools, `outward` all but those that serve the agent alone.
    """
    document: dict[str, Any] = {}
    for name, hidden in (("tools", False), ("outward", True)):
        first = third = 0
        for trace, plans, effects in found:
            inner = internal(effects) if hidden else frozenset()
            distinct = list(dict.fromkeys(tools - inner for tools in plans))
            first += trace.tools - inner in distinct[:1]
            third += trace.tools - inner in distinct[:3]
        document[name] = {"first": share(first, len(found)), "first_three": share(third, len(found))}
    return document


def changes(found: Found) -> dict[str, Any]:
    """Return how often the first plan changes state by the tools by which the trace does, of all and of those with any.

    Without a plan, nothing is changed.
    """
    hits, tried = Counter[str](), Counter[str]()
    for trace, plans, effects in found:
        changing = {tool for tool, effect in effects.items() if effect == "changes"}
        wanted = trace.tools & changing
        planned = (plans[0] if plans else frozenset()) & changing
        for group in ("all", *(("with_changes",) if wanted else ())):
            tried[group] += 1
            hits[group] += wanted == planned
    return {group: share(hits[group], tried[group]) for group in tried}


def limits(
    asked: Sequence[tuple[int, Trace]],
    known: Mapping[int, Sequence[Trace]],
    effects: Mapping[int, Mapping[str, str]],
) -> dict[str, Any]:
    """Return what bounds the figures of plans that repeat what known traces did, `asked` given with the known trial.

    `same task` takes the known trace of the same task for the plan, and `same task, both successful` only where that
    succeeded: so far the agent agrees with itself. `any known` and `any known success` are the shares of traces whose
    tools, but for internal ones, are those of some known trace with a call: no choice among plans gets beyond them.
    """
    twins = [
        (one, twin, effects[learned]) for learned, one in asked for twin in known[learned] if twin.task == one.task
    ]
    document: dict[str, Any] = {}
    for name, agreeing in (
        ("same task", twins),
        ("same task, both successful", [pair for pair in twins if pair[1].succeeded]),
    ):
        if not agreeing:
            continue
        found = [(one, [twin.tools], known_) for one, twin, known_ in agreeing]
        document[name] = {**figures(found), "what changes state": changes(found)["all"]}
    for name, only_successes in (("any known", False), ("any known success", True)):
        hits = 0
        for learned, one in asked:
            inner = internal(effects[learned])
            sets = {
                trace.tools - inner
                for trace in known[learned]
                if trace.tools and (trace.succeeded or not only_successes)
            }
            hits += one.tools - inner in sets
        document[name] = share(hits, len(asked))
    return document


async def measure(traces: Sequence[Trace]) -> dict[str, Any]:
    trials = sorted({one.trial for one in traces})
    if len(trials) < 2:
        raise typer.BadParameter("the file has one trial; two are needed, to learn from one and meet the other")
    known = {trial: [one for one in traces if one.trial == trial] for trial in trials}
    # Of three and more trials, each is met by what was learned from the one before it.
    pairs = [(trials[at - 1], trial) for at, trial in enumerate(trials)]
    asked = [(learned, one) for learned, met in pairs for one in known[met] if one.succeeded]
    without = {f"{learned}-{one.task}": [t for t in known[learned] if t.task != one.task] for learned, one in asked}
    methods: dict[str, Callable[[str, Sequence[Trace]], list[Tools]]] = {
        "nearest trace": nearest,
        "most frequent plan": most_frequent,
    }
    with server() as url, progress() as bars:
        async with store(url, "learning") as opened:
            learner = Learner(opened)
            bar = bars.add_task("learn", total=len(trials) + len(without))
            for trial in trials:
                await learner.import_(f"trial:{trial}", known[trial])
                bars.advance(bar)
            for scope, others in without.items():
                await learner.import_(f"without:{scope}", others)
                bars.advance(bar)
            await learner.learn()
            met = [(one, await learner.ask(f"trial:{learned}", one.instruction)) for learned, one in asked]
            held_out = [
                (one, await learner.ask(f"without:{learned}-{one.task}", one.instruction)) for learned, one in asked
            ]
    effects = {learned: learner.effects[f"trial:{learned}"] for learned in trials}
    seen = [effects[learned] for learned, _ in asked]
    document: dict[str, Any] = {
        "effects": {str(trial): dict(sorted(found.items())) for trial, found in effects.items()},
        "unseen trials": {"learned": figures([(*pair, known_) for pair, known_ in zip(met, seen, strict=True)])},
        "unseen tasks, what changes state": {
            "learned": changes([(*pair, known_) for pair, known_ in zip(held_out, seen, strict=True)])
        },
    }
    document["limits"] = limits(asked, known, effects)
    for name, method in methods.items():
        found = [(one, method(one.instruction, known[learned]), effects[learned]) for learned, one in asked]
        document["unseen trials"][name] = figures(found)
        apart = [
            (one, method(one.instruction, without[f"{learned}-{one.task}"]), effects[learned]) for learned, one in asked
        ]
        document["unseen tasks, what changes state"][name] = changes(apart)
    return document


def main(
    path: Annotated[Path, typer.Argument(help="Traces of at least two trials, as JSON lines.", exists=True)],
) -> None:
    figures = asyncio.run(measure(read(path)))
    met = figures["unseen trials"]["learned"]["outward"]
    held_out = figures["unseen tasks, what changes state"]["learned"]["all"]
    bounds = [
        Bound(
            name="share of unseen traces without the tools of the first plan",
            value=1 - met["first"]["share"],
            limit=0.45,
        ),
        Bound(name="share without those of the first three", value=1 - met["first_three"]["share"], limit=0.30),
        Bound(
            name="share of unseen tasks that the first plan changes wrongly", value=1 - held_out["share"], limit=0.45
        ),
    ]
    report("learning", figures, bounds=bounds, machine=machine(None))


if __name__ == "__main__":
    typer.run(main)
