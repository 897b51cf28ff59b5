"""The stages of learning, in the order in which they learn from each batch, and the follow-ups that follow."""

from __future__ import annotations

from collections.abc import Sequence

from stratagraph.memory.learning.competence.stage import Competence
from stratagraph.memory.learning.compression import Compression
from stratagraph.memory.learning.duplicates.follow_up import Duplicates
from stratagraph.memory.learning.extraction.asking import FIRST_PAUSE_S
from stratagraph.memory.learning.extraction.extractor import Extractor
from stratagraph.memory.learning.extraction.follow_up import Extraction
from stratagraph.memory.learning.extraction.limits import Limits
from stratagraph.memory.learning.extraction.queueing import ExtractionQueue
from stratagraph.memory.learning.follow_ups import FollowUp
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
    return (Compression(), StructuralFacts(), Competence(), Plans(), *([ExtractionQueue()] if extracts else []))


def build_follow_ups(
    database: Database,
    directory: Directory,
    clock: Clock,
    *,
    owner: str,
    extractor: Extractor | None = None,
    limits: Limits | None = None,
    first_pause_s: float = FIRST_PAUSE_S,
) -> Sequence[FollowUp]:
    """Return the follow-ups: what is extracted may then be found to be known. `owner` names this server.

    Of an `extractor` that is overloaded, the first pause takes `first_pause_s` seconds.
    """
    duplicates = Duplicates(database, directory, clock, owner=owner)
    if extractor is None:
        return (duplicates,)
    reading = Extraction(database, directory, clock, extractor, owner=owner, limits=limits, first_pause_s=first_pause_s)
    return (reading, duplicates)
