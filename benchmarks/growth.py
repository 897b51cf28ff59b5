"""What learning costs while a store grows: slices of episodes, and the first pass over existing records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random
from time import perf_counter
from typing import Any

from harness import Store, trust
from rich.progress import Progress
from wording import Wording

from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.learning.runs import ConsolidationRuns
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stages import build_follow_ups, build_stages
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import SourceKind

CAPTURED_AT_ONCE = 500
SUMMARIES, TASKS, TOOLS = 500, 30, 12  # different ones, drawn by Zipf's law
SPELLED, MISSPELT = 0.02, 0.01  # shares of names in capitals, and with two letters swapped
PREDICATES = ("uses", "prefers", "located_in", "owned_by", "status", "written_in", "contains", "works_on", "runs_on")
SCOPES, SCOPE_WEIGHTS = (None, "team/1", "team/2", "team/3"), (5, 3, 2, 1)


def zipf(number: int) -> list[float]:
    """Return cumulative weights by Zipf's law with the exponent 1."""
    return list(accumulate(1 / rank for rank in range(1, number + 1)))


class Learner:
    """The services of one store, with all stages and follow-ups but that of a language model."""

    def __init__(self, where: Store, tenant: Tenant) -> None:
        clock = SystemClock()
        self.where = where
        self.caller = replace(trust(), tenant=tenant.name)
        self.capture = Capture(where.database, where.directory, clock, Policy())
        self.runs = ConsolidationRuns(where.database, where.directory, clock)
        follow_ups = build_follow_ups(where.database, where.directory, clock, owner="bench")
        self.learning = Learning(where.database, where.directory, clock, build_stages(), follow_ups)

    async def store(self, requests: Sequence[CaptureRequest]) -> None:
        for first in range(0, len(requests), CAPTURED_AT_ONCE):
            await self.capture.capture(self.caller, requests[first : first + CAPTURED_AT_ONCE], batch=True)

    async def learn(self) -> tuple[int, dict[str, float]]:
        """Learn from all that is due; return the number of episodes, and the seconds of each part."""
        began = perf_counter()
        learned = 0
        seconds: dict[str, float] = {}
        run = await self.learning.open_run(self.learning.now())
        seconds["prepare"] = perf_counter() - began
        if run is None:
            return 0, seconds
        while (batch := await self.learning.run_batch(run)) is not None:
            learned += batch.episodes
        began = perf_counter()
        while await self.learning.run_follow_up(run) is not None:
            pass
        seconds["duplicates"] = perf_counter() - began
        await self.learning.close_run(run)
        (done,) = (await self.runs.page(self.caller, first=1)).runs
        seconds.update({one.name: one.seconds for one in done.stages if one.name != "duplicates"})
        return learned, seconds


@dataclass
class Episodes:
    """Episodes of tasks drawn by Zipf's law: a request, two events, one to four tool calls, an outcome."""

    seed: int

    def __post_init__(self) -> None:
        self._pick = Random(self.seed)
        weights = zipf(TOOLS)
        numbers = [self._pick.randint(1, 4) for _ in range(TASKS)]
        self._plans = [self._pick.choices(range(TOOLS), cum_weights=weights, k=number) for number in numbers]
        self._number = 0

    def requests(self, number: int) -> list[CaptureRequest]:
        return [request for _ in range(number) for request in self._episode()]

    def _episode(self) -> Iterator[CaptureRequest]:
        pick, thread = self._pick, f"thread {self._number}"
        self._number += 1
        task = pick.choices(range(TASKS), cum_weights=zipf(TASKS))[0]
        asked = f"please do task {task} for customer C{pick.randrange(100_000)}"
        yield self._request(SourceKind.AGENT_TURN, thread, role="user", text=asked)
        for _ in range(2):
            summary = f"went through door {pick.choices(range(SUMMARIES), cum_weights=zipf(SUMMARIES))[0]}"
            yield self._request(SourceKind.EVENT, thread, event_kind="step", summary=summary)
        for tool in self._plans[task]:
            arguments = {"customer": f"C{pick.randrange(100_000)}", "mode": pick.choice(("fast", "safe"))}
            result = {"id": f"R{pick.randrange(100_000)}"} if pick.random() < 0.9 else {"error": "not found"}
            yield self._request(SourceKind.TOOL_OUTPUT, thread, tool_name=f"tool_{tool}", args=arguments, result=result)
        outcome = "success" if pick.random() < 0.7 else "failure"
        yield self._request(SourceKind.OUTCOME, thread, outcome_status=outcome)

    def _request(self, kind: SourceKind, thread: str, **content: Any) -> CaptureRequest:
        return CaptureRequest(source="bench", source_kind=kind, content={"thread_id": thread, **content})


async def grow(where: Store, tenant: Tenant, *, slices: int, size: int, bars: Progress) -> list[dict[str, Any]]:
    """Capture episodes and learn from them, slice by slice; return what each slice cost for an episode."""
    learner, episodes = Learner(where, tenant), Episodes(seed=size)
    bar = bars.add_task(f"learning from {slices} slices of {size:,}", total=slices)
    found = []
    for number in range(slices):
        await learner.store(episodes.requests(size))
        before = where.database.statements
        began = perf_counter()
        learned, seconds = await learner.learn()
        took = perf_counter() - began
        found.append({
            "episodes_before": number * size,
            "learned": learned,
            "ms_an_episode": round(took / size * 1_000, 2),
            "statements_an_episode": round((where.database.statements - before) / size, 2),
            "stage_ms_an_episode": {name: round(one / size * 1_000, 2) for name, one in sorted(seconds.items())},
        })  # fmt: skip
        bars.advance(bar)
    return found


def observations(wording: Wording, number: int, names: Sequence[str]) -> list[CaptureRequest]:
    """Return observations about people of `names` by Zipf's law, in four scopes; half of the objects are people."""
    pick, weights = wording.random, zipf(len(names))

    def name() -> str:
        found, draw = pick.choices(names, cum_weights=weights)[0], pick.random()
        if draw < MISSPELT:
            at = pick.randrange(len(found) - 1)
            return found[:at] + found[at + 1] + found[at] + found[at + 2 :]
        return found.upper() if draw < MISSPELT + SPELLED else found

    requests = []
    for _ in range(number):
        subject = name()
        said = name() if pick.random() < 0.5 else wording.text(pick.randint(2, 12), paths=False)
        content = {"subject": subject, "predicate": pick.choice(PREDICATES), "object": said}
        requests.append(
            CaptureRequest(
                source="bench",
                source_kind=SourceKind.OBSERVATION,
                content=content,
                context={"mentions": [{"name": subject, "type": "Person"}]},
                scope=pick.choices(SCOPES, SCOPE_WEIGHTS)[0],
            )
        )
    return requests


async def first_pass(where: Store, tenant: Tenant, *, records: int, bars: Progress) -> dict[str, Any]:
    """Fill a store with entities and facts that no run has compared, and compare them; return what each part took."""
    learner, wording = Learner(where, tenant), Wording(records)
    names = [wording.name() for _ in range(records // 2)]
    bar = bars.add_task(f"capturing {records:,} entities and facts", total=records)
    made = 0
    while made < records:
        await learner.store(observations(wording, CAPTURED_AT_ONCE, names))
        made = await _compared(where)
        bars.update(bar, completed=min(made, records))
    seconds: dict[str, float] = defaultdict(float)
    before, last = where.database.statements, perf_counter()
    async for step in learner.learning.prepare(learner.learning.now()):
        seconds[step.what] += perf_counter() - last
        last = perf_counter()
    run = await learner.learning.open_run(learner.learning.now())
    assert run is not None  # all records are queued
    left = (await learner.learning.follow_ups_waiting(run))["duplicates"]
    bar = bars.add_task(f"comparing {left:,}", total=left)
    longest = 0.0
    began = last = perf_counter()
    while await learner.learning.run_follow_up(run) is not None:
        longest, last = max(longest, perf_counter() - last), perf_counter()
        bars.update(bar, completed=left - (await learner.learning.follow_ups_waiting(run))["duplicates"])
    seconds["comparing"] = perf_counter() - began
    await learner.learning.close_run(run)
    total = sum(seconds.values())
    return {
        "records": made,
        "seconds": {what: round(one, 1) for what, one in seconds.items()} | {"total": round(total, 1)},
        "ms_a_record": round(total / made * 1_000, 2),
        "compared_ms_a_record": round(seconds["comparing"] / made * 1_000, 2),
        "longest_step_s": round(longest, 2),
        "statements_a_record": round((where.database.statements - before) / made, 2),
    }


async def _compared(where: Store) -> int:
    async with where.database.engine.connect() as connection:
        found = await connection.exec_driver_sql("SELECT count(*) FROM record WHERE type IN (3, 4) AND state = 1")
        return int(found.scalar_one())
