"""An agent that gets better: it asks before a task, follows the plan that it is given, and reports the outcome.

No model is needed: the agent replays recorded conversations. Of each it sees what the customer wants, and the tools
that memory proposes. It is right at the first try if these are the tools that solved the task in the recording. Then
the recording is what the agent does: its calls are captured, and from time to time the service learns from them.

    make run                                                 # in another terminal; the first time, it makes .venv
    .venv/bin/python examples/agent_loop.py examples/helpdesk.jsonl

The file has one conversation a line, as in chat completions: `task.instruction`, `reward` (1 for a success), and
`messages` with `tool_calls` and the results of the tools.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

Json = dict[str, Any]
Ask = Callable[[str, Json], Awaitable[Json]]
Learn = Callable[[], Awaitable[None]]
LEARN_EVERY = 4  # tasks; a service learns by itself every six hours

RETRIEVE = """query($input: RetrieveGraphInput!, $task: String!, $scope: String!) {
  retrieveGraph(input: $input) {
    ... on RetrieveGraphSuccess { retrievalId roots nodes { record { id type payload } } }
    ... on MemoryError { code message }
  }
  playbook(query: $task, scope: $scope)
}"""
CAPTURE = """mutation($input: CaptureMemoriesInput!) {
  captureMemories(input: $input) { __typename ... on MemoryError { code message } }
}"""
REPORT = """mutation($input: ReportOutcomeInput!) {
  reportOutcome(input: $input) { __typename ... on MemoryError { code message } }
}"""
LEARN_LESSON = """mutation($input: LearnLessonInput!) {
  learnLesson(input: $input) { __typename ... on MemoryError { code message } }
}"""
CREDIT = """mutation { creditLessons(input: {}) { __typename ... on MemoryError { code message } } }"""


@dataclass(frozen=True, slots=True)
class Call:
    """A recorded call of a tool, and what it returned."""

    tool: str
    args: Any
    result: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded conversation: what the customer wanted, the calls that were made, and whether they solved it."""

    task: str
    calls: tuple[Call, ...]
    solved: bool


@dataclass(frozen=True, slots=True)
class Try:
    """What became of one task: the tools that memory proposed, and whether they were those of the solution."""

    task: str
    proposed: tuple[str, ...]
    is_right: bool


class Refused(Exception):
    """The service refused a request; the message says why."""


def read(path: Path) -> list[Recording]:
    """Return the conversations of a file that solved their tasks with tools; the others teach this agent nothing."""
    found = []
    for line in path.read_text().splitlines():
        one = json.loads(line)
        results = {
            message["tool_call_id"]: message["content"] for message in one["messages"] if message["role"] == "tool"
        }
        calls = [call for message in one["messages"] for call in message.get("tool_calls") or ()]
        made = tuple(
            Call(
                call["function"]["name"],
                json.loads(call["function"]["arguments"] or "{}"),
                str(results.get(call["id"], ""))[:2_000],
            )
            for call in calls
        )
        found.append(Recording(one["task"]["instruction"], made, one["reward"] == 1))
    return [one for one in found if one.solved and one.calls]


async def work_through(
    recordings: Sequence[Recording], ask: Ask, learn: Learn, *, scope: str, every: int = LEARN_EVERY
) -> list[Try]:
    """Do all tasks in their order; return what became of each."""
    tries = []
    for number, recording in enumerate(recordings, 1):
        tries.append(await do_task(recording, ask, thread=f"{scope}/{number}", scope=scope))
        if number % every == 0:
            await learn()
    return tries


async def do_task(recording: Recording, ask: Ask, *, thread: str, scope: str) -> Try:
    """Ask, follow the plan, and tell what came of it."""
    wanted = {"taskDescriptor": recording.task, "memoryTypes": ["PLAN_GRAPH", "COMPETENCE"], "scopes": [scope]}
    answer = await ask(RETRIEVE, {"input": wanted, "task": recording.task, "scope": scope})
    found, playbook = _granted(answer["retrieveGraph"]), answer["playbook"]
    used, proposed = _plan_of(found)
    solution = [call.tool for call in recording.calls]
    is_right = set(proposed) == set(solution)
    await _tell(ask, CAPTURE, {"items": _captures(recording, thread, scope)})
    if used is not None:
        outcome = "SUCCESS" if is_right else "FAILURE"
        await _tell(ask, REPORT, {"retrievalId": found["retrievalId"], "outcome": outcome, "usedRecordIds": [used]})
    if is_right and playbook:
        await _tell(ask, CREDIT, None)
    elif not is_right:
        lesson = {
            "task": recording.task,
            "mistake": f"tried {', '.join(proposed)}" if proposed else "knew no plan",
            "solution": f"call {', then '.join(dict.fromkeys(solution))}",
            "scope": scope,
        }
        await _tell(ask, LEARN_LESSON, lesson)
    return Try(recording.task, proposed, is_right)


def _plan_of(found: Json) -> tuple[str | None, tuple[str, ...]]:
    """Return the id and the tools of the best plan or skill of an answer; lessons have no tools."""
    payloads = {node["record"]["id"]: node["record"]["payload"] or {} for node in found["nodes"]}
    for root in found["roots"]:
        steps = [*payloads[root].get("nodes", ()), *payloads[root].get("recipe", ())]
        tools = [step.get("op") or step.get("tool") for step in steps]
        if tools and all(tools):
            return root, tuple(dict.fromkeys(tools))
    return None, ()


def _captures(recording: Recording, thread: str, scope: str) -> list[Json]:
    """Return the captures of a conversation: what was asked, the calls, each after the one before, and the outcome."""
    said: list[tuple[str, Json]] = [("AGENT_TURN", {"role": "user", "text": recording.task})]
    for number, call in enumerate(recording.calls):
        content: Json = {"tool_name": call.tool, "args": call.args, "result": call.result, "call_id": f"c{number}"}
        if number:
            content["depends_on"] = [f"c{number - 1}"]
        said.append(("TOOL_OUTPUT", content))
    said.append(("OUTCOME", {"outcome_status": "success"}))
    return [
        {"source": "agent", "sourceKind": kind, "content": {**content, "thread_id": thread}, "scope": scope}
        for kind, content in said
    ]


async def _tell(ask: Ask, document: str, given: Json | None) -> None:
    (result,) = (await ask(document, {} if given is None else {"input": given})).values()
    _granted(result)


def _granted(result: Json) -> Json:
    if "code" in result:
        raise Refused(f"{result['code']}: {result['message']}")
    return result


def halves(tries: Sequence[Try]) -> tuple[float, float]:
    """Return the share of tasks that were right at the first try, in the first and in the second half."""
    middle = len(tries) // 2
    first, second = ([one.is_right for one in part] for part in (tries[:middle], tries[middle:]))
    return sum(first) / max(1, len(first)), sum(second) / max(1, len(second))


async def main() -> None:
    parser = argparse.ArgumentParser(description="Replay conversations as an agent that learns from them.")
    parser.add_argument("file", type=Path, help="conversations, one JSON document a line")
    parser.add_argument("--url", default="http://127.0.0.1:8000/graphql", help="of the running service")
    parser.add_argument("--scope", default="example:agent-loop", help="where the agent remembers")
    given = parser.parse_args()
    async with httpx.AsyncClient(timeout=60) as client:

        async def ask(document: str, variables: Json) -> Json:
            answer = (await client.post(given.url, json={"query": document, "variables": variables})).json()
            if answer.get("errors"):
                raise Refused(answer["errors"][0]["message"])
            data: Json = answer["data"]
            return data

        async def learn() -> None:
            command = [str(Path(sys.executable).with_name("stratagraph")), "consolidate", "--json"]
            await asyncio.to_thread(subprocess.run, command, check=True, stdout=subprocess.DEVNULL)

        tries = await work_through(read(given.file), ask, learn, scope=given.scope)
    for one in tries:
        print(f"{'right' if one.is_right else 'wrong':<6} {one.task[:60]:<60} {', '.join(one.proposed) or 'no plan'}")
    first, second = halves(tries)
    print(f"right at the first try: {first:.0%} of the first half, {second:.0%} of the second")


if __name__ == "__main__":
    asyncio.run(main())
