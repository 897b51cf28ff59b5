"""ATIF trajectories (Agent Trajectory Interchange Format of Harbor): `{schema_version, session_id, agent, steps}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from stratagraph.memory.imports.conversation import Attachment, Called, Conversation, Returned, Said, Step
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.contents import read_content
from stratagraph.memory.imports.formats.envelope import read_outcome
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference
from stratagraph.memory.imports.formats.parts import (
    PROMPTS,
    REASONING,
    read_arguments,
    read_failure,
    result_text,
)
from stratagraph.memory.imports.formats.sessions import COPIES, report_version, tag
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

ENVIRONMENT = "environment"  # the role of what was observed without a call
_ROLES = {"user": "user", "agent": "assistant"}
_KNOWN = re.compile(r"ATIF-v1\.[0-7]")


def difference(document: Any) -> Difference | None:
    """Return in what a document is no ATIF trajectory."""
    fields = document if isinstance(document, dict) else {}
    version, steps = fields.get("schema_version"), fields.get("steps")
    first = steps[0] if isinstance(steps, list) and steps else {}
    return first_difference(
        [
            (isinstance(version, str) and version.startswith("ATIF"), "it has no `schema_version` such as ATIF-v1.7"),
            (isinstance(steps, list), "it has no list `steps`"),
            (isinstance(first, dict) and (not steps or "source" in first), "steps.0 has no `source`"),
        ]
    )


def read(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the trajectory, then those of its subagents that it holds."""
    yield from _read(document, "", None, new_reading)


def _read(document: Any, path: str, parent: str | None, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    reading = new_reading()
    children: list[Conversation] = []
    with reading.object(document, path) as fields:
        report_version(fields.text("schema_version"), _KNOWN, "ATIF-v1.0 to 1.7", reading)
        session, trajectory = fields.id("session_id"), fields.id("trajectory_id")
        id_ = session or trajectory
        if parent is not None and (session is None or parent.startswith(session)):
            id_ = f"{parent}:{trajectory or path}"
        steps: list[Step] = []
        for number, step in enumerate(fields.objects("steps")):
            with step:
                steps += _step(step, number)
        outcome, reason = read_outcome(fields)
        for place, child in enumerate(fields.list("subagent_trajectories")):
            children += _read(child, f"{fields.path('subagent_trajectories')}.{place}", id_, new_reading)
        yield Conversation(
            id=id_,
            steps=steps,
            tags=("atif", *_agent(fields)),
            outcome=outcome,
            reason=reason,
            skipped=reading.skipped,
            unread=reading.unread,
        )
    yield from children


def _agent(fields: Fields) -> tuple[str, ...]:
    agent = fields.object("agent")
    if agent is None:
        return ()
    with agent:
        found = tag("agent", agent.take("name")), tag("version", agent.take("version"))
    return tuple(one for one in found if one is not None)


def _step(step: Fields, number: int) -> list[Step]:
    """Return what was said, called and observed in one step."""
    source, at = step.required_text("source"), step.time("timestamp")
    reading = step.reading
    step.take("step_id")
    if step.take("is_copied_context") is True:
        reading.skipped[COPIES] += 1
        step.take("message", "reasoning_content", "tool_calls", "observation", "metrics", "model_name", "extra")
        return []
    step.skip(REASONING, "reasoning_content")
    steps: list[Step] = []
    if source == "system":
        step.skip(PROMPTS, "message")
    elif source in _ROLES:
        text, attachments = _content(step.take("message"), step.path("message"), reading)
        if text.strip() or attachments:
            steps.append(Said(role=_ROLES[source], text=text, at=at, attachments=attachments))
    else:
        raise InvalidInput(f"{step.path('source')}: {shown(source)} is unknown; it must be system, user or agent")
    calls: list[Called] = []
    for call in step.objects("tool_calls"):
        with call:
            calls.append(
                Called(
                    tool=call.required_text("function_name"),
                    arguments=read_arguments(call.take("arguments")),
                    turn=number,
                    id=call.id("tool_call_id"),
                    at=at,
                )
            )
    return [*steps, *calls, *_observed(step, calls, at)]


def _observed(step: Fields, calls: list[Called], at: datetime | None) -> list[Step]:
    """Return the results of a step. One that names no call is that of the only one, or else said by the environment."""
    observation = step.object("observation")
    if observation is None:
        return []
    found: list[Step] = []
    with observation:
        for result in observation.objects("results"):
            with result:
                text, attachments = _content(result.take("content"), result.path("content"), step.reading)
                result.skip("references to trajectories of subagents", "subagent_trajectory_ref")
                id_, failed = result.id("source_call_id"), read_failure(result)
                extra = result.object("extra")
                if extra is not None:
                    with extra:
                        failed = failed if failed is not None else read_failure(extra)
                if id_ is None and len(calls) == 1:
                    id_ = calls[0].id
                if id_ is not None or (calls and text.strip()):
                    tool = calls[0].tool if id_ is None else None
                    found.append(Returned(text=text, id=id_, tool=tool, failed=failed, at=at, attachments=attachments))
                elif text.strip() or attachments:
                    found.append(Said(role=ENVIRONMENT, text=text, at=at, attachments=attachments))
    return found


def _content(value: Any, path: str, reading: Reading) -> tuple[str, tuple[Attachment, ...]]:
    """Return the text of a content and its pictures, which are named by a path beside the trajectory."""
    if isinstance(value, dict):  # of the versions before 1.6, a result may be any JSON
        return result_text(value), ()
    if not isinstance(value, list) or not any(isinstance(part, dict) and "source" in part for part in value):
        return read_content(value, path, reading)
    attachments: list[Attachment] = []
    texts: list[Any] = []
    for part in value:
        source = part.get("source") if isinstance(part, dict) else None
        if isinstance(source, dict) and isinstance(source.get("path"), str):
            media = source.get("media_type")
            attachments.append(Attachment(media_type=media if isinstance(media, str) else None, uri=source["path"]))
        else:
            texts.append(part)
    text, others = read_content(texts, path, reading)
    return text, (*attachments, *others)


ATIF = Format(
    name="ATIF trajectory",
    documented="ATIF 1.4 to 1.7 (RFC 0001 of Harbor)",
    difference=difference,
    read=read,
    marks=("schema_version", "session_id", "agent", "steps", "step_id"),
)
