"""The batch part of `semantic-extractor`: queue closed episodes for the language model.

See docs/learning.md.
"""

from __future__ import annotations

from stratagraph.memory.capture.secrets import sealing_level
from stratagraph.memory.learning.extraction.items import items_of
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.store.learning.extraction import queue_episodes

NAME = "semantic-extractor"
SUMMARY = "Let a language model extract facts from closed episodes."


class ExtractionQueue:
    """Queues the episodes of a batch that have texts, unless they are at or above the encryption level."""

    name = NAME
    summary = SUMMARY

    async def learn(self, batch: LearningBatch) -> StageReport:
        """Queue the episodes in the transaction of the batch; the follow-up `semantic-extractor` reads them later."""
        level = sealing_level(batch.directory.vault)
        if level is not None and batch.group.sensitivity >= level:
            return StageReport(skips={"episodes at or above the encryption level": len(batch.episodes)})
        wanted = [episode.id for episode in batch.episodes if items_of(episode)]
        await queue_episodes(batch.connection, batch.group, wanted, at=batch.run.now)
        silent = len(batch.episodes) - len(wanted)
        return StageReport(skips={"episodes without text": silent} if silent else {})
