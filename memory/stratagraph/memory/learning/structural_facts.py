"""The stage `structural-facts`: facts about what kinds of events successful episodes had.

See docs/learning.md, Stages.
"""

from __future__ import annotations

from stratagraph.memory.learning.drafting import LearnedRecord
from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.store.model.enums import MemoryType

PREDICATE = "observed_in"
CONFIDENCE = 0.5  # less than that of the events, because no caller has stated it as a fact
MAX_FACTS = 100  # of one episode; the first of its timeline


class StructuralFacts:
    """Learns from each successful episode which summaries its kinds of events had."""

    name = "structural-facts"
    summary = "Learn which events occurred in successful episodes."

    async def learn(self, batch: LearningBatch) -> StageReport:
        """Store a fact for each different (kind, summary) of a successful episode; reinforce those that are known."""
        learned = [fact for episode in batch.episodes for fact in facts_of(episode)]
        ids = await batch.learner.create_all(learned)
        new = batch.learner.created(ids)
        skipped = sum(1 for episode in batch.episodes if episode.outcome != "success")
        return StageReport(
            inputs=len(batch.episodes),
            outputs=len(new),
            merges=len(ids) - len(new),
            skips={"episodes without success": skipped} if skipped else {},
        )


def facts_of(episode: Episode) -> list[LearnedRecord]:
    """Return the facts of one episode, each once, in the order of its timeline; none unless it succeeded."""
    if episode.outcome != "success":
        return []
    seen: dict[tuple[str, str], LearnedRecord] = {}
    for event in episode.events:
        if not event.summary or len(seen) == MAX_FACTS:
            continue
        seen.setdefault(
            (event.kind, event.summary),
            LearnedRecord(
                type=MemoryType.SEMANTIC,
                payload={"subject": event.kind, "predicate": PREDICATE, "object": event.summary},
                sources=(episode.id,),
                confidence=CONFIDENCE,
                occurred_at=episode.closed_at,
                rationale=f"observed in the successful episode {episode.id}",
                entities=event.entities,
            ),
        )
    return list(seen.values())
