"""The stage `needs`: which tools tasks need, learned from the words of what users asked for. See docs/learning.md."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from stratagraph.memory.learning.competence.skills import skill_name
from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.needs.model import MAX_TERMS, MAX_TOOLS, ToolModel
from stratagraph.memory.learning.plans.plan_graphs import plan_id
from stratagraph.memory.learning.procedures.observation import OUTCOMES
from stratagraph.memory.learning.procedures.tasks import asked_for
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.learning.examples import (
    Example,
    fetch_examples,
    lock_model,
    store_examples,
    store_model,
    tool_key,
)
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.analysis.lexemes import analysed
from stratagraph.store.model.enums import MemoryType, Outcome
from stratagraph.store.model.words import term_number
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.handles import handle_key

MAX_TEXT = 20_000  # characters of a task whose words count
_MOST_COUNTED = 32_767  # of one word


class NeededTools:
    """Learns from the words of each task which tools it needed."""

    name = "needs"
    summary = "Learn which tools tasks need, by their words."

    async def learn(self, batch: LearningBatch) -> StageReport:
        """Keep the episodes as examples, and make the model of the group anew from the newest of them."""
        tenant = batch.caller.tenant
        found = await asyncio.to_thread(lambda: [example_of(tenant, episode) for episode in batch.episodes])
        examples = [one for one in found if one is not None]
        if examples:
            await lock_model(batch.connection, batch.group, at=batch.learner.clock.now())
            await store_examples(batch.connection, batch.group, batch.run.id, examples)
            await refresh_model(batch.connection, batch.group, at=batch.learner.clock.now())
        left_out = len(found) - len(examples)
        reason = "episodes without a task, a call or an outcome, or with too many tools"
        return StageReport(inputs=len(found), skips={reason: left_out} if left_out else {})


async def refresh_models(connection: Connection, groups: Iterable[Group], *, at: datetime) -> None:
    """Make the models of groups anew whose examples have changed."""
    for group in sorted(groups):
        await lock_model(connection, group, at=at)
        await refresh_model(connection, group, at=at)


async def refresh_model(connection: Connection, group: Group, *, at: datetime) -> None:
    """Make the locked model of a group anew from its examples; without any, it is deleted."""
    examples = await fetch_examples(connection, group)

    def made() -> bytes | None:
        model = ToolModel.of(examples)
        return None if model is None else model.as_bytes()

    await store_model(connection, group, await asyncio.to_thread(made), at=at)


def example_of(tenant: Tenant, episode: Episode) -> Example | None:
    """Return what an episode shows; None for one without a task, a call or an outcome, or with over MAX_TOOLS tools."""
    if not episode.calls or episode.outcome not in OUTCOMES:
        return None
    terms = said_terms(tenant.index_key, asked_for(episode))
    if not terms:
        return None
    tools = tuple(sorted({call.tool for call in episode.calls}))
    if len(tools) > MAX_TOOLS:
        return None
    skill, plan = procedure_keys(tenant, tools)
    return Example(
        episode=episode.id,
        closed_at=episode.closed_at,
        outcome=Outcome[episode.outcome.upper()],
        skill=skill,
        plan=plan,
        tools=tuple(sorted(tool_key(tenant, tool) for tool in tools)),
        terms=tuple(terms),
        counts=tuple(min(count, _MOST_COUNTED) for count in terms.values()),
    )


def procedure_keys(tenant: Tenant, tools: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Return the handle keys of the skill and of the plan with these tools."""
    return (
        handle_key(tenant, MemoryType.COMPETENCE, skill_name(tools)),
        handle_key(tenant, MemoryType.PLAN_GRAPH, plan_id(tools)),
    )


def said_terms(index_key: bytes, text: str) -> dict[int, int]:
    """Return how often a text has each of its terms, of the MAX_TERMS most frequent ones; equals by their numbers."""
    counts = Counter(term_number(index_key, lexeme) for lexeme in analysed(text[:MAX_TEXT]).lexemes)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_TERMS])
