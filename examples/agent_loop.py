"""An agent that works in a shop, with and without memory, and what memory is worth to it. No model is needed.

The shop (`shop.py`) has tools and customers. Colleagues have solved some tasks, one wish each; these conversations are
captured, and the service learns from them. Then the agent gets new tasks, with one wish and with two:

- without memory it reads the descriptions of the tools: it looks up what it can, and then tries the tools that share
  most words with what is said of an order;
- with memory it asks for a plan before each task and follows that: which tool comes next, which result an argument is
  taken from, and what to ask the customer for. Then it captures what it did and reports the outcome.

    make run                                # in another terminal; the first time, it makes .venv
    .venv/bin/python examples/agent_loop.py
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from shop import TOOLS, Shop, Task, ToolError, World, solution

Json = dict[str, Any]
Ask = Callable[[str, Json], Awaitable[Json]]
Learn = Callable[[], Awaitable[None]]
MOST_CALLS = 8  # of one task
KNOWN, UNSEEN = 30, 10  # tasks that colleagues have solved, and new ones with one wish and as many with two

RETRIEVE = """query($input: RetrieveGraphInput!) {
  retrieveGraph(input: $input) {
    ... on RetrieveGraphSuccess { retrievalId roots nodes { record { id type payload } } }
    ... on MemoryError { code message }
  }
}"""
CAPTURE = """mutation($input: CaptureMemoriesInput!) {
  captureMemories(input: $input) { __typename ... on MemoryError { code message } }
}"""
REPORT = """mutation($input: ReportOutcomeInput!) {
  reportOutcome(input: $input) { __typename ... on MemoryError { code message } }
}"""


class Refused(Exception):
    """The service refused a request; the message says why."""


@dataclass(slots=True)
class Conversation:
    """What was said and done for one task, and what is known from it."""

    task: Task
    shop: Shop
    turns: list[tuple[str, str]] = field(default_factory=list)  # speaker and text
    calls: list[Json] = field(default_factory=list)  # as they are captured
    told: dict[str, str] = field(default_factory=dict)  # what the customer answered, by argument
    results: dict[tuple[str, str], Json] = field(default_factory=dict)  # by tool and order

    def ask(self, argument: str, question: str) -> str | None:
        """Return what the customer says to a question, asked once."""
        if argument not in self.told:
            answer = self.task.answer(question)
            if answer is None:
                return None
            self.turns += [("assistant", question), ("user", answer)]
            self.told[argument] = answer
        return self.told[argument]

    def call(self, tool: str, args: Json, order: str) -> bool:
        """Call a tool; return whether it did what it was asked for."""
        record: Json = {"tool_name": tool, "args": args, "call_id": f"c{len(self.calls)}"}
        if self.calls:
            record["depends_on"] = [f"c{len(self.calls) - 1}"]
        self.calls.append(record)
        try:
            record["result"] = self.results[tool, order] = self.shop.call(tool, args)
        except ToolError as error:
            record["error"] = str(error)
            return False
        return True


@dataclass(frozen=True, slots=True)
class Done:
    """What came of tasks: how many there were and were solved, and the calls and failed calls that they took."""

    tasks: int = 0
    solved: int = 0
    calls: int = 0
    errors: int = 0

    def __add__(self, other: Done) -> Done:
        return Done(
            self.tasks + other.tasks,
            self.solved + other.solved,
            self.calls + other.calls,
            self.errors + other.errors,
        )

    def __str__(self) -> str:
        share = self.solved / max(1, self.tasks)
        calls, errors = (number / max(1, self.tasks) for number in (self.calls, self.errors))
        return f"{share:4.0%} solved, {calls:.1f} calls and {errors:.1f} errors a task"


async def compare(seed: int, ask: Ask, learn: Learn, *, scope: str) -> tuple[Done, Done]:
    """Let colleagues work, learn from it, and return what the agent did without and with memory."""
    world = World(seed)
    for number, (task, make) in enumerate(world.tasks(KNOWN, wishes=1)):
        shown = solve_as_colleague(Conversation(task, make()), seed + number)
        await _tell(ask, CAPTURE, {"items": _captures(shown, f"{scope}/known/{number}", scope)})
    await learn()
    without, with_memory = Done(), Done()
    unseen = [*world.tasks(UNSEEN, wishes=1), *world.tasks(UNSEEN, wishes=2)]
    for number, (task, make) in enumerate(unseen):
        without += _outcome(work_by_descriptions(Conversation(task, make())))
        with_memory += _outcome(await work_by_memory(Conversation(task, make()), ask, f"{scope}/{number}", scope))
    return without, with_memory


def solve_as_colleague(conversation: Conversation, number: int) -> Conversation:
    """Solve a task as a colleague does, who has worked in the shop for years. Every fifth call first goes wrong."""
    talk = conversation
    for tool, asked, order in solution(talk.task):
        for argument in asked:
            talk.ask(argument, f"What is the {argument}?")
        args = {name: _known(talk, name, order) for name in TOOLS[tool].arguments}
        if number % 5 == 0 and tool == "get_order":
            talk.call(tool, args | {"order": f"{order}9"}, order)
        talk.call(tool, args, order)
    return talk


def _known(talk: Conversation, argument: str, order: str) -> str | None:
    """Return what a colleague puts into an argument: what was said or returned under its name."""
    if argument == "order":
        return order
    found = [
        result[argument] for (_, about), result in talk.results.items() if argument in result and about in ("", order)
    ]
    return found[-1] if found else talk.told.get(argument)


def work_by_descriptions(talk: Conversation) -> Conversation:
    """Look up all that can be, then try the tools that share most words with what is said of each order.

    It asks for each argument that no result has.
    """
    for order in re.findall(r"#\d+", talk.task.said):
        said = _words(next(part for part in re.split(r"[.!?]", talk.task.said) if order in part))
        ranked = sorted(TOOLS, key=lambda tool: (-len(said & _words(f"{tool} {TOOLS[tool].summary}")), tool))
        for tool in sorted(ranked, key=lambda tool: "Look up" not in TOOLS[tool].summary):
            is_lookup = "Look up" in TOOLS[tool].summary
            if talk.shop.calls >= MOST_CALLS or (is_lookup and (tool, "") in talk.results):
                continue
            args = {}
            for name in TOOLS[tool].arguments:
                args[name] = _known(talk, name, order) or talk.ask(name, f"What is the {name}?")
            given = {name: value for name, value in args.items() if value is not None}
            about = order if "order" in given else ""
            if talk.call(tool, given, about) and not is_lookup:
                break
    return talk


async def work_by_memory(talk: Conversation, ask: Ask, thread: str, scope: str) -> Conversation:
    """Follow the plan that memory has for the task; without one, work by the descriptions. Report what came of it."""
    wanted = {"taskDescriptor": talk.task.said, "memoryTypes": ["PLAN_GRAPH", "COMPETENCE"], "scopes": [scope]}
    found = _granted((await ask(RETRIEVE, {"input": wanted}))["retrieveGraph"])
    payloads = {node["record"]["id"]: node["record"]["payload"] or {} for node in found["nodes"]}
    used = found["roots"][0] if found["roots"] else None
    if used is None:
        work_by_descriptions(talk)
    else:
        follow(talk, payloads[used])
    await _tell(ask, CAPTURE, {"items": _captures(talk, thread, scope)})
    if used is not None:
        outcome = "SUCCESS" if talk.shop.solves(talk.task) else "FAILURE"
        await _tell(ask, REPORT, {"retrievalId": found["retrievalId"], "outcome": outcome, "usedRecordIds": [used]})
    return talk


def follow(talk: Conversation, payload: Json) -> None:
    """Carry out the steps of a plan or a skill, once for each order that they are about.

    Which of the orders a changing step is for, the plan does not say: the agent looks at the order first, as the plan
    has it, and tries the step where it is allowed.
    """
    steps = [*(_step(node["op"], node.get("params") or {}, node) for node in payload.get("nodes", ()))]
    steps += [_step(step["tool"], step, step) for step in payload.get("recipe", ())]
    orders = re.findall(r"#\d+", talk.task.said)
    changed: set[str] = set()
    for tool, schema, questions in steps:
        for order in orders:
            if talk.shop.calls >= MOST_CALLS + 4 or order in changed:
                continue
            args = {}
            for name, one in (schema.get("properties") or {}).items():
                args[name] = _argument(talk, name, one, questions, order)
            given = {name: value for name, value in args.items() if value is not None}
            is_change = bool(questions or "item" in given) and not tool.startswith(("find", "get"))
            status = talk.results.get(("get_order", order), {}).get("status")
            if is_change and status is not None and (status == "pending") is not _is_for_pending(tool):
                continue
            if talk.call(tool, given, order if "order" in given else "") and is_change:
                changed.add(order)
            if is_change or "order" not in given:
                break


def _is_for_pending(tool: str) -> bool:
    return "pending" in TOOLS[tool].summary


def _step(tool: str, holder: Mapping[str, Any], step: Mapping[str, Any]) -> tuple[str, Json, dict[str, str]]:
    """Return the tool of a step, the schema of its arguments, and the questions that ask for those of the customer."""
    questions = {one["argument"]: one["question"] for one in step.get("ask") or ()}
    return tool, holder.get("args_schema") or {}, questions


def _argument(talk: Conversation, name: str, schema: Json, questions: Mapping[str, str], order: str) -> Any:
    """Return an argument of a step: what the plan says that it is, from a result, or what the customer says."""
    if name == "order":
        return order
    if "const" in schema:
        return schema["const"]
    source = schema.get("source", "")
    tool, _, path = source.partition(": ")
    for about in (order, ""):
        if path in talk.results.get((tool, about), {}):
            return talk.results[tool, about][path]
    return talk.ask(name, questions[name]) if name in questions else _known(talk, name, order)


def _words(text: str) -> set[str]:
    return {*re.findall(r"[a-z]{3,}", text.lower().replace("_", " "))}


def _outcome(talk: Conversation) -> Done:
    return Done(1, int(talk.shop.solves(talk.task)), talk.shop.calls, talk.shop.errors)


def _captures(talk: Conversation, thread: str, scope: str) -> list[Json]:
    """Return the captures of a conversation: what was said, the calls, each after the one before, and the outcome."""
    said: list[tuple[str, Json]] = [("AGENT_TURN", {"role": "user", "text": talk.task.said})]
    said += [("AGENT_TURN", {"role": role, "text": text}) for role, text in talk.turns]
    said += [("TOOL_OUTPUT", call) for call in talk.calls]
    said.append(("OUTCOME", {"outcome_status": "success" if talk.shop.solves(talk.task) else "failure"}))
    return [
        {"source": "agent", "sourceKind": kind, "content": {**content, "thread_id": thread}, "scope": scope}
        for kind, content in said
    ]


async def _tell(ask: Ask, document: str, given: Json) -> None:
    (result,) = (await ask(document, {"input": given})).values()
    _granted(result)


def _granted(result: Json) -> Json:
    if "code" in result:
        raise Refused(f"{result['code']}: {result['message']}")
    return result


def is_worth_it(without: Done, with_memory: Done) -> bool:
    """Return whether memory solves half as many tasks again, or has half the errors, and is not worse in the other."""
    more = with_memory.solved >= 1.5 * without.solved
    fewer = with_memory.errors <= 0.5 * without.errors
    return (more or fewer) and with_memory.solved >= without.solved


async def main() -> None:
    parser = argparse.ArgumentParser(description="Let an agent work in a shop, with and without memory.")
    parser.add_argument("--url", default="http://127.0.0.1:8000/graphql", help="of the running service")
    parser.add_argument("--scope", default="example:shop", help="where the agent remembers; the seed is added")
    parser.add_argument("--seeds", type=int, default=10, help="shops that are compared")
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

        found: Sequence[tuple[Done, Done]] = []
        for seed in range(given.seeds):
            without, with_memory = await compare(seed, ask, learn, scope=f"{given.scope}:{seed}")
            print(f"seed {seed}: without memory {without}; with memory {with_memory}", flush=True)
            found = [*found, (without, with_memory)]
    better = sum(is_worth_it(*pair) for pair in found)
    total = [sum((pair[at] for pair in found), Done()) for at in (0, 1)]
    print(f"all: without memory {total[0]}; with memory {total[1]}")
    print(f"half as many tasks again, or half the errors: in {better} of {len(found)} shops")


if __name__ == "__main__":
    asyncio.run(main())
