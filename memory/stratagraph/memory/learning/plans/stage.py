"""The stage `plans`: plans, learned from the tool graphs of episodes (docs/learning.md, Skills and plans)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from stratagraph.memory.learning.competence.skills import skill_name
from stratagraph.memory.learning.plans.plan_graphs import LEAST_CALLS, plan_id, plan_payload, structure_of
from stratagraph.memory.learning.procedures.effects import Effect
from stratagraph.memory.learning.procedures.families import Learnt, effects_of, families_of, store_family
from stratagraph.memory.learning.procedures.observation import Observation
from stratagraph.memory.learning.procedures.reported import Reported, reported_of_plan
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.records.inserting import NewRelation

USES = 0.9  # weight of the relation from a plan to the skill with the same tools


class PlanGraphs:
    """Plans as a kind of procedure."""

    type = MemoryType.PLAN_GRAPH

    def name(self, tools: tuple[str, ...]) -> str:
        return plan_id(tools)

    def payload(self, observed: Observation, effects: Mapping[str, Effect], reported: Reported) -> dict[str, Any]:
        return plan_payload(observed, effects, reported)

    def is_new_version(self, payload: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
        return structure_of(payload) != structure_of(stored)

    def reported(self, payload: Mapping[str, Any], observed: Observation) -> Reported:
        return reported_of_plan(payload, observed)


class Plans:
    """Learns a plan from the tool graphs with at least LEAST_CALLS calls that used the same tools."""

    name = "plans"
    summary = "Learn plans: the structure of tool graphs, with statistics of each step and link."

    async def learn(self, batch: LearningBatch) -> StageReport:
        """Create and change the plans of the episodes, and relate them to the skills with the same tools."""
        learnt = Learnt()
        long = [one for one in batch.episodes if len(one.calls) >= LEAST_CALLS]
        learnt.skip(f"episodes with fewer than {LEAST_CALLS} tool calls", len(batch.episodes) - len(long))
        families = families_of(long, learnt)
        effects = await effects_of(batch, {tool for family in families for tool in family.tools})
        stored: list[tuple[UUID, tuple[str, ...]]] = []
        for family in families:
            plan = await store_family(batch, PlanGraphs(), family, effects, learnt)
            if plan is not None:
                stored.append((plan, family.tools))
        await self._relate(batch, stored)
        return StageReport(
            inputs=len(batch.episodes),
            outputs=len(learnt.created) + len(learnt.revised),
            merges=len(learnt.retold),
            skips=learnt.skips,
        )

    async def _relate(self, batch: LearningBatch, plans: list[tuple[UUID, tuple[str, ...]]]) -> None:
        relations = []
        for plan, tools in plans:
            versions = await batch.learner.versions(MemoryType.COMPETENCE, skill_name(tools))
            relations += [
                NewRelation(source=plan, target=one.id, predicate="uses", weight=USES)
                for one in versions
                if one.is_current
            ]
        await batch.learner.relate(relations)
