"""The stages of learning, in the order in which they learn from each batch, and the follow-ups that follow."""

from __future__ import annotations

from collections.abc import Sequence

from stratagraph.memory.learning.competence.stage import Competence
from stratagraph.memory.learning.compression import Compression
from stratagraph.memory.learning.duplicates.follow_up import Duplicates
from stratagraph.memory.learning.extraction.follow_up import Extraction
from stratagraph.memory.learning.extraction.limits import Limits
from stratagraph.memory.learning.extraction.queueing import ExtractionQueue
from stratagraph.memory.learning.extraction.reader import TextReader
from stratagraph.memory.learning.follow_ups import FollowUp
from stratagraph.memory.learning.needs.stage import NeededTools
from stratagraph.memory.learning.plans.stage import Plans
from stratagraph.memory.learning.stage import Stage
from stratagraph.memory.learning.structural_facts import StructuralFacts
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.postgres.database import Database


def build_stages(*, extracts: bool = False) -> Sequence[Stage]:
    """Return the stages. A new one is a module beside this one and an entry here, at its place in the order.

    With `extracts`, there is an extractor that reads what the last of them queues.
    """
    stages = (Compression(), StructuralFacts(), Competence(), Plans(), NeededTools())
    return (*stages, *([ExtractionQueue()] if extracts else []))


def build_follow_ups(
    database: Database,
    directory: Directory,
    clock: Clock,
    *,
    owner: str,
    reader: TextReader | None = None,
    limits: Limits | None = None,
) -> Sequence[FollowUp]:
    """Return the follow-ups: what is extracted may then be found to be known. `owner` names this server."""
    duplicates = Duplicates(database, directory, clock, owner=owner)
    if reader is None:
        return (duplicates,)
    return (Extraction(database, reader, limits=limits or Limits()), duplicates)
