"""Answers to `stratagraph lessons` and `stratagraph playbook`, as JSON; see `local_answers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stratagraph.memory.lessons.request import CONFIDENCE, SOURCE, LearnLesson
from stratagraph.memory.lessons.windows import Window, zone_of
from stratagraph.memory.revise.request import RemoveLesson, VerifyLesson
from stratagraph.service.cli.show import as_json, line
from stratagraph.service.cli.styled_lines import as_styled_line
from stratagraph.service.cli.tenants import reader_of
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import parse_id

Answer = dict[str, Any]


async def learn(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Learn a lesson; return it, and what it was merged with or retired."""
    sensitivity = given["sensitivity"]
    request = LearnLesson(
        task=given["task"],
        solution=given["solution"],
        mistake=given["mistake"] or "",
        trigger=given["trigger"] or "",
        anti_pattern=given["anti_pattern"] or "",
        correct_pattern=given["correct_pattern"] or "",
        code_example=given["code_example"] or "",
        domains=tuple(given["domains"]),
        confidence=CONFIDENCE if given["confidence"] is None else given["confidence"],
        verified=given["verified"],
        source=given["source"] or SOURCE,
        scope=given["scope"],
        sensitivity=Sensitivity.parse(sensitivity, path=["--sensitivity"]) if sensitivity is not None else None,
    )
    done = await runtime.lessons.learn(await reader_of(runtime, given["tenant"]), request)
    lesson = done.captured.primary
    return {
        "document": {"lesson": as_json(lesson), "merged": done.is_merged, "retired": done.retired},
        "line": as_styled_line(line(lesson)),
    }


async def listed(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return lessons, best or newest first."""
    try:
        window = Window[given["window"].upper()]
    except KeyError:
        raise InvalidInput(f"--window: {shown(given['window'])} is not today, week or all", path=["--window"]) from None
    found = await runtime.lessons.find(
        await reader_of(runtime, given["tenant"]),
        query=given["query"],
        scope=given["scope"],
        window=window,
        zone=zone_of(given["time_zone"], path=["--time-zone"]),
        source=given["source"],
        trigger=given["trigger"],
        first=given["first"],
    )
    return {"document": [as_json(one) for one in found], "lines": [as_styled_line(line(one)) for one in found]}


async def playbook(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return lessons as text for a system prompt."""
    text = await runtime.lessons.playbook(
        await reader_of(runtime, given["tenant"]),
        query=given["query"],
        scope=given["scope"],
        limit=given["limit"],
        token_budget=given["tokens"],
        is_counted=given["count"],
    )
    return {"document": {"text": text}}


async def failures(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return the last mistakes as text for a prompt."""
    text = await runtime.lessons.failures(
        await reader_of(runtime, given["tenant"]),
        scope=given["scope"],
        limit=given["limit"],
        token_budget=given["tokens"],
    )
    return {"document": {"text": text}}


async def credit(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Credit the lessons that playbooks returned recently; return their ids."""
    trust = await reader_of(runtime, given["tenant"])
    return {"document": {"credited": await runtime.lessons.credit(trust, window_s=given["seconds"])}}


async def retire(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Retire lessons that do not help; return their ids."""
    retired = await runtime.lessons.drop(
        await reader_of(runtime, given["tenant"]),
        scope=given["scope"],
        retrievals=given["min_retrievals"],
        fraction=given["fraction"],
    )
    return {"document": {"retired": retired}}


async def verify(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Note whether a lesson was verified; return it."""
    request = VerifyLesson(
        record_id=parse_id(given["record"], path=["RECORD_ID"]), verified=given["verified"], rationale=given["why"]
    )
    return await _revised(runtime, given, request)


async def remove(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Retract a lesson; return it."""
    request = RemoveLesson(record_id=parse_id(given["record"], path=["RECORD_ID"]), rationale=given["why"])
    return await _revised(runtime, given, request)


async def _revised(runtime: Runtime, given: Mapping[str, Any], request: VerifyLesson | RemoveLesson) -> Answer:
    done = await runtime.revision.revise(await reader_of(runtime, given["tenant"]), request)
    return {"document": as_json(done.record), "line": as_styled_line(line(done.record))}
