"""The batch part of `semantic-extractor`: queue the texts of closed episodes that are not queued yet.

Texts are queued when they are captured, if there is an extractor then. This finds those that were captured before, or
by a process without one. See docs/learning.md.
"""

from __future__ import annotations

from stratagraph.memory.capture.secrets import sealing_level
from stratagraph.memory.learning.extraction.items import items_of
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.store.learning.extraction import queue_texts

NAME = "semantic-extractor"
SUMMARY = "Let a language model extract facts from texts, and what they mention."


class ExtractionQueue:
    """Queues the texts of a batch of episodes, unless they are at or above the encryption level."""

    name = NAME
    summary = SUMMARY

    async def learn(self, batch: LearningBatch) -> StageReport:
        """Queue the texts in the transaction of the batch; the follow-up `semantic-extractor` reads them later."""
        level = sealing_level(batch.directory.vault)
        if level is not None and batch.group.sensitivity >= level:
            return StageReport(skips={"episodes at or above the encryption level": len(batch.episodes)})
        texts = [{item.record for item in items_of(one.turns, one.events)} for one in batch.episodes]
        await queue_texts(batch.connection, batch.group.tenant, set().union(*texts), below=level, at=batch.run.now)
        silent = sum(not of_episode for of_episode in texts)
        return StageReport(skips={"episodes without text": silent} if silent else {})
