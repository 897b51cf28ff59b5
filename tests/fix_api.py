"""The services of the API over a test's memory, for tests that execute the schema without a server."""

from __future__ import annotations

from fix_memory import Memory

from stratagraph.graphql.services import HealthReport, Services
from stratagraph.memory.changes.service import Changes
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.learning.duplicates.review import DuplicateReview
from stratagraph.memory.learning.runs import ConsolidationRuns
from stratagraph.memory.records.measures import Measures
from stratagraph.memory.records.predicates import Predicates
from stratagraph.store.model.trust import Trust


def services_of(memory: Memory, engines: Engines | None = None) -> Services:
    """Return the services over `memory`, whose graph questions `engines` answer: by default, SQL alone."""
    return Services(
        capture=memory.capture,
        failed_captures=memory.failed_captures,
        retrieve=memory.retrieve,
        feedback=memory.feedback,
        lookup=memory.lookup,
        revision=memory.revision,
        erasure=memory.erasure,
        forgetting=memory.forgetting,
        explore=Explore(memory.database, memory.directory, memory.clock, engines or Engines()),
        duplicates=DuplicateReview(memory.database, memory.directory, memory.clock),
        predicates=Predicates(memory.database, memory.directory),
        lessons=memory.lessons,
        measures=Measures(memory.database, memory.directory, None),
        runs=ConsolidationRuns(memory.database, memory.directory, memory.clock),
        changes=Changes(memory.database, memory.directory, memory.clock),
        health=_health,
        version="test",
    )


async def _health(_: Trust) -> HealthReport:
    return HealthReport(ok=True, checks=[])
