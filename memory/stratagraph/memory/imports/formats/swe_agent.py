"""Trajectories of SWE-agent (`.traj`: `{trajectory, history, info}`) and of mini-swe-agent (`{messages, info}`).

Their commands are calls of the tool `bash`, unless the history has the calls themselves. A trajectory has no identity
of its own: an instance is solved by many runs, and becomes a tag.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from stratagraph.memory.imports.conversation import Called, Conversation, Returned, Said, Step
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.contents import read_content
from stratagraph.memory.imports.formats.envelope import read_outcome
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference
from stratagraph.memory.imports.formats.parts import INSTRUCTING, PROMPTS, REASONING, read_arguments
from stratagraph.memory.imports.formats.sessions import COPIES, report_version, tag

SHELL = "bash"
_MINI = re.compile(r"mini-swe-agent-1(\.\d+)?")
_BLOCK = re.compile(r"```[\w-]*\s*\n(?P<command>.*?)\n?```", re.DOTALL)
_RETURN_CODE = re.compile(r"\s*<returncode>\s*(?P<code>-?\d+)\s*</returncode>\s*(?P<rest>.*)", re.DOTALL)
_OUTPUT = re.compile(r"<output>\n?(?P<output>.*?)\n?</output>\s*", re.DOTALL)


def difference(document: Any) -> Difference | None:
    """Return in what a document is no trajectory of SWE-agent or mini-swe-agent."""
    is_object = isinstance(document, dict)
    steps = document.get("trajectory") if is_object else None
    if is_object and "trajectory" not in document and "trajectory_format" in document:
        return first_difference([(True, ""), (isinstance(document.get("messages"), list), "it has no list `messages`")])
    listed = isinstance(steps, list)
    first = steps[0] if isinstance(steps, list) and steps else {}
    return first_difference(
        [
            (listed, "it has no list `trajectory` and no `trajectory_format`"),
            (isinstance(first, dict) and (not steps or "action" in first), "trajectory.0 has no `action`"),
            (is_object and ("history" in document or "info" in document), "it has no `history` and no `info`"),
        ]
    )


def read(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the conversation."""
    with new_reading().object(document, "") as fields:
        steps = _trajectory(fields) if "trajectory" in document else _messages(fields)
        outcome, reason = read_outcome(fields)
        tags = ["swe-agent", tag("instance", fields.take("instance_id"))]
        info = fields.object("info")
        if info is not None:
            with info:
                ended, why = _outcome(info)
                tags.append(tag("version", info.take("mini_version", "swe_agent_version")))
                outcome, reason = (outcome, reason) if outcome is not None else (ended, why)
        yield Conversation(
            id=None,
            steps=steps,
            tags=tuple(one for one in tags if one is not None),
            outcome=outcome,
            reason=reason,
            skipped=fields.reading.skipped,
            unread=fields.reading.unread,
        )


def _outcome(info: Fields) -> tuple[str | None, str | None]:
    """Return the outcome: that of a check where there is one, a failure for a run that submitted nothing."""
    checked, reason = read_outcome(info)
    resolved, status = info.take("resolved"), info.take("exit_status")
    if checked is None and isinstance(resolved, bool):
        return "success" if resolved else "failure", f"resolved = {str(resolved).lower()}"
    if checked is None and isinstance(status, str) and status.strip() and "submit" not in status.casefold():
        return "failure", f"exit_status = {status}"
    return checked, reason


def _trajectory(fields: Fields) -> list[Step]:
    """Return the steps of a SWE-agent trajectory: the task, then thoughts, actions and observations."""
    steps: list[Step] = []
    actions: deque[tuple[str | None, list[Called]]] = deque()
    has_begun = False
    for message in fields.objects("history"):
        with message:
            role = message.required_text("role")
            is_demo = message.take("is_demo") is True
            if role == "assistant" and not is_demo:
                has_begun = True
                actions.append((message.text("action"), _calls(message, len(actions))))
            if has_begun or is_demo:
                _leave_out(message)
                fields.reading.skipped[COPIES if has_begun else "demonstrations"] += 1
            else:
                steps += _said(message, role)
    for number, step in enumerate(fields.objects("trajectory")):
        with step:
            steps += _step(step, actions, number)
    return steps


def _leave_out(message: Fields) -> None:
    message.take("content", "agent", "message_type", "thought", "tool_calls", "tool_call_ids", "tags", "cache_control")
    message.take("thinking_blocks", "action")


def _step(step: Fields, actions: deque[tuple[str | None, list[Called]]], number: int) -> list[Step]:
    """Return the steps of one step: a thought, an action and what it returned."""
    step.skip(COPIES, "response", "query", "messages")
    step.skip(REASONING, "thinking_blocks")
    action, observation = step.text("action") or "", step.text("observation") or ""
    said, observed = _turn("assistant", step.text("thought") or ""), _turn("user", observation)
    same = bool(actions) and (actions[0][0] or "").strip() == action.strip()
    calls = actions.popleft()[1] if same else []
    if not calls and not action.strip():
        return [*said, *observed]
    calls = calls or [Called(tool=SHELL, arguments={"command": action.strip()}, turn=number)]
    # All commands of a step have one observation.
    return [*said, *calls, Returned(text=observation, id=calls[-1].id, tool=calls[-1].tool)]


def _turn(role: str, text: str, at: datetime | None = None) -> list[Step]:
    return [Said(role=role, text=text, at=at)] if text.strip() else []


def _said(message: Fields, role: str) -> list[Step]:
    """Return the turn of a message before the first action."""
    message.take("agent", "message_type", "tags", "cache_control")
    if role in INSTRUCTING:
        message.skip(PROMPTS, "content")
        return []
    text, attachments = read_content(message.take("content"), message.path("content"), message.reading)
    return [Said(role=role, text=text, attachments=attachments)] if text.strip() or attachments else []


def _calls(message: Fields, turn: int) -> list[Called]:
    """Return the calls of a message, in the form of chat completions."""
    found = []
    for call in message.objects("tool_calls"):
        with call:
            call.take("type", "index")
            function = call.object("function") or call
            with function:
                tool, arguments = function.required_text("name"), read_arguments(function.take("arguments"))
            found.append(Called(tool=tool, arguments=arguments, turn=turn, id=call.id("id")))
    return found


def _messages(fields: Fields) -> list[Step]:
    """Return the steps of a mini-swe-agent trajectory: messages with commands in blocks, or with calls."""
    report_version(fields.text("trajectory_format"), _MINI, "mini-swe-agent-1", fields.reading)
    steps: list[Step] = []
    waiting: deque[Called] = deque()
    for number, message in enumerate(fields.objects("messages")):
        with message:
            steps += _message(message, waiting, number)
    return steps


def _message(message: Fields, waiting: deque[Called], number: int) -> list[Step]:
    """Return the steps of one message. `waiting` are the calls that have no result yet."""
    role = message.required_text("role")
    extra = message.object("extra") or message.reading.object({}, message.path("extra"))
    with extra:
        at = extra.time("timestamp")
        if role in INSTRUCTING:
            message.skip(PROMPTS, "content")
            return []
        text, attachments = read_content(message.take("content"), message.path("content"), message.reading)
        if role == "exit":
            message.reading.skipped["lines that are no turns (exit)"] += 1
            extra.take("exit_status", "submission")
            return []
        if role == "assistant":
            message.skip(REASONING, "reasoning_content", "reasoning", "thinking_blocks")
            calls = [replace(call, at=at) for call in _calls(message, number) or _commands(extra, text, number)]
            extra.skip(COPIES, "actions", "response")
            waiting.clear()
            waiting.extend(calls)
            said = _BLOCK.sub("", text).strip() if calls and calls[0].id is None else text
            return [*_turn(role, said, at), *calls]
        id_ = message.id("tool_call_id")
        call = next((one for one in waiting if one.id == id_), waiting[0] if waiting and id_ is None else None)
        if call is None and role != "tool":
            return [Said(role=role, text=text, at=at, attachments=attachments)] if text.strip() or attachments else []
        if call is not None:
            waiting.remove(call)
        code, raw = extra.take("returncode"), extra.take("raw_output")
        output, printed = _observed(text)
        failed = None if printed is None else printed != 0
        if isinstance(code, int) and not isinstance(code, bool):
            failed = code != 0
        output = raw if isinstance(raw, str) else output
        return [Returned(text=output, id=id_, tool=call.tool if call else None, failed=failed, at=at)]


def _commands(extra: Fields, text: str, number: int) -> list[Called]:
    """Return the commands that a message runs: those that the program found, or else the one block of the text."""
    actions: Sequence[Any] = extra.list("actions")
    found = [one.get("command") if isinstance(one, dict) else one for one in actions]
    blocks = [match["command"] for match in _BLOCK.finditer(text)]
    commands = [one for one in found if isinstance(one, str)] or (blocks if len(blocks) == 1 else [])
    return [Called(tool=SHELL, arguments={"command": command.strip()}, turn=number) for command in commands]


def _observed(text: str) -> tuple[str, int | None]:
    """Return what a command printed, and its exit code, of a message such as `<returncode>0</returncode><output>…`."""
    match = _RETURN_CODE.fullmatch(text)
    if match is None:
        return text, None
    output = _OUTPUT.fullmatch(match["rest"])
    return output["output"] if output else match["rest"], int(match["code"])


SWE_AGENT = Format(
    name="SWE-agent trajectory",
    documented="SWE-agent 0.7 to 1.1, mini-swe-agent-1 and 1.1",
    difference=difference,
    read=read,
    marks=("trajectory", "action", "observation", "info"),
)
