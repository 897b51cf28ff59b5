"""What was learned from episodes that are erased, or that lose members, and is kept because of other episodes.

Skills and plans are recomputed without them in all versions, and no longer rest on them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.caption import plan_caption, shortened, skill_caption
from stratagraph.memory.learning.competence.skills import skill_payload
from stratagraph.memory.learning.needs.stage import refresh_models
from stratagraph.memory.learning.plans.plan_graphs import plan_payload
from stratagraph.memory.learning.procedures.effects import Effect
from stratagraph.memory.learning.procedures.observation import Observation
from stratagraph.memory.learning.procedures.reported import reported_of_plan, reported_of_skill
from stratagraph.store.erasure.learned import copy_terms_to_history, derivations_between, learned_procedures
from stratagraph.store.erasure.rewriting import contents_of, rewrite
from stratagraph.store.erasure.traces import Traces
from stratagraph.store.feed.changes import Change
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.examples import delete_examples, delete_refused
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.relations import end_relations


async def withdraw_support(
    connection: Connection,
    tenant: Tenant,
    weakened: Collection[UUID],
    episodes: Collection[UUID],
    *,
    at: datetime,
) -> list[Change]:
    """Remove `episodes` from the sources of the locked records `weakened`; return the changes for the feed.

    A later erasure then finds which of their sources are left.
    """
    named = Traces(tenant, frozenset(str(id_) for id_ in episodes), frozenset())
    relations = await derivations_between(connection, tenant, episodes, weakened)
    changes = await end_relations(connection, tenant, relations, at=at)
    return [*changes, *await rewrite(connection, tenant, weakened, named.strip)] if weakened else changes


async def forget_examples(
    connection: Connection, tenant: Tenant, episodes: Collection[UUID], *, at: datetime, without: int | None = None
) -> None:
    """Delete what `episodes` showed of the tools that tasks need, and make the models of their groups anew.

    Of retracted skills and plans among them, the notes that these were refused are deleted. The scope `without` is
    being erased as a whole: its models are deleted with it.
    """
    await delete_refused(connection, tenant, episodes)
    groups = await delete_examples(connection, tenant, episodes)
    await refresh_models(connection, [group for group in groups if group.scope != without], at=at)


async def forget_learned(
    connection: Connection,
    directory: Directory,
    tenant: Tenant,
    staying: Collection[UUID],
    episodes: Collection[UUID],
    *,
    at: datetime,
    known: Collection[UUID] = (),
) -> list[Change]:
    """Rewrite what was learned from episodes that are erased or lose members, as if they had shown nothing.

    `known` is what was learned from episodes that were removed before. Only the locked records `staying` are rewritten;
    their counts stay. Returns the changes for the feed.
    """
    procedures = await learned_procedures(connection, tenant, episodes, known) & set(staying)
    if not procedures:
        return []
    names = {str(id_) for id_ in episodes}
    changes = await rewrite(connection, tenant, procedures, lambda content: without_episodes(content, names))
    rewritten = {change.id for change in changes}
    contents = await contents_of(connection, tenant, rewritten)
    edits = [
        Edit(id=id_, terms=record_terms(tenant.index_key, content["text"]), is_revision=False)
        for id_, (_, content) in sorted(contents.items())
    ]
    changes += await update_records(connection, directory, tenant, edits, at=at)
    await copy_terms_to_history(connection, tenant, rewritten)
    return changes


def without_episodes(content: Mapping[str, Any], episodes: Collection[str]) -> dict[str, Any] | None:
    """Return the content of a learned skill or plan without what only `episodes` showed; None if nothing is to change.

    `content` has the content columns of one version; `episodes` are ids. A state that cannot be read is removed, and
    the payload is left as it is, like a caller's.
    """
    payload, state = content["payload"], content["learned_state"]
    if state is None:
        return None
    before = Observation.of_state(state)
    if before is None:
        return {**content, "learned_state": None}
    if not before.rests_on(episodes):
        return None
    observed = before.forgetting(episodes)
    if payload["kind"] == "plan_graph":
        after = plan_payload(observed, _effects(payload["nodes"], "op"), reported_of_plan(payload, before))
    else:
        after = skill_payload(observed, _effects(payload["recipe"], "tool"), reported_of_skill(payload, before))
    if "version" in payload:
        after["version"] = payload["version"]
    name, text = (plan_caption if payload["kind"] == "plan_graph" else skill_caption)(after)
    return {**content, "payload": after, "name": shortened(name), "text": text, "learned_state": observed.as_json()}


def _effects(steps: Collection[Mapping[str, Any]], tool: str) -> dict[str, Effect]:
    """Return what the steps of a payload say of their tools."""
    return {one[tool]: Effect(one["effect"]) for one in steps if one.get("effect") in {*Effect}}
