"""The stage `competence`: skills, learned from episodes that used the same tools. See docs/learning.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from stratagraph.memory.learning.competence.skills import MIN_SUCCESSES, is_new_version, skill_name, skill_payload
from stratagraph.memory.learning.procedures.effects import Effect
from stratagraph.memory.learning.procedures.families import (
    Family,
    Learnt,
    add_tool_evidence,
    effects_of,
    families_of,
    family_of,
    store_family,
)
from stratagraph.memory.learning.procedures.observation import Observation, observe
from stratagraph.memory.learning.procedures.reported import Reported, reported_of_skill
from stratagraph.memory.learning.reading import read_episodes
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.store.erasure.pruning import schedule_learned
from stratagraph.store.learning.procedures import mark_awaiting_skill, note_signatures, noted_episodes
from stratagraph.store.model.enums import MemoryType


class Skills:
    """Skills as a kind of procedure."""

    type = MemoryType.COMPETENCE

    def name(self, tools: tuple[str, ...]) -> str:
        return skill_name(tools)

    def payload(self, observed: Observation, effects: Mapping[str, Effect], reported: Reported) -> dict[str, Any]:
        return skill_payload(observed, effects, reported)

    def is_new_version(self, payload: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
        return is_new_version(payload, stored)

    def reported(self, payload: Mapping[str, Any], observed: Observation) -> Reported:
        return reported_of_skill(payload, observed)


class Competence:
    """Learns a skill from each set of tools that succeeded in MIN_SUCCESSES episodes, and counts all later episodes."""

    name = "competence"
    summary = "Learn skills: which tools in which order, with which arguments, and what fails."

    async def learn(self, batch: LearningBatch) -> StageReport:
        """Note what the episodes show of their tools, then create and change the skills of these."""
        learnt = Learnt()
        families = families_of(batch.episodes, learnt)
        await add_tool_evidence(batch, families)
        effects = await effects_of(batch, {tool for family in families for tool in family.tools})
        for family in await self._with_earlier(batch, families, learnt):
            await store_family(batch, Skills(), family, effects, learnt)
        return StageReport(
            inputs=len(batch.episodes),
            outputs=len(learnt.created) + len(learnt.revised),
            merges=len(learnt.retold),
            skips=learnt.skips,
        )

    async def _with_earlier(self, batch: LearningBatch, families: Sequence[Family], learnt: Learnt) -> list[Family]:
        """Return the families that are skills: those without one get the earlier episodes with the same tools.

        The episodes of the others are noted, and kept from being pruned, so that a later batch finds them.
        """
        known: list[Family] = []
        new: list[Family] = []
        for family in families:
            versions = await batch.learner.versions(MemoryType.COMPETENCE, skill_name(family.tools))
            (known if any(one.is_current for one in versions) else new).append(family)
        if not new:
            return known
        tenant, scope = batch.caller.tenant, batch.learner.scope
        names = [skill_name(family.tools) for family in new]
        noted = await noted_episodes(batch.connection, tenant, batch.group, names)
        signatures = {id_: name for family, name in zip(new, names, strict=True) for _, id_ in family.episodes}
        await note_signatures(batch.connection, tenant, batch.group, batch.run.id, signatures)
        awaiting: set[UUID] = set()
        released: set[UUID] = set()
        for family, name in zip(new, names, strict=True):
            due = [one for one in reversed(noted[name]) if one.id not in signatures]
            _, earlier = await read_episodes(batch.connection, batch.caller, batch.group, scope, due)
            observed = [(one, seen) for one in reversed(earlier) if (seen := observe(one)) is not None]
            alike = [(one, seen) for one, seen in observed if seen.tools == family.tools]
            whole = family_of(alike).joined(family) if alike else family
            if whole.observed.successes >= MIN_SUCCESSES:
                known.append(whole)
                released |= {one.id for one in noted[name]}
            else:
                awaiting |= {id_ for _, id_ in family.episodes}
                learnt.skip("episodes of procedures that have not succeeded twice", len(family.episodes))
        await mark_awaiting_skill(batch.connection, tenant, awaiting, awaits=True)
        await mark_awaiting_skill(batch.connection, tenant, released, awaits=False)
        await schedule_learned(batch.connection, tenant.id, sorted(released), at=batch.learner.clock.now())
        return sorted(known, key=lambda one: one.tools)
