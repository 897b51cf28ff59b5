"""The services that the API calls, and the form of their health reports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from stratagraph.memory.capture.retries import FailedCaptures
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.changes.service import Changes
from stratagraph.memory.erase.service import Erasure
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.feedback.service import Feedback
from stratagraph.memory.learning.duplicates.review import DuplicateReview
from stratagraph.memory.learning.runs import ConsolidationRuns
from stratagraph.memory.lessons.service import Lessons
from stratagraph.memory.records.forgetting import Forgetting
from stratagraph.memory.records.lookup import Lookup
from stratagraph.memory.records.measures import Measures
from stratagraph.memory.records.predicates import Predicates
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.revise.service import Revision
from stratagraph.store.model.trust import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The state of one part of the service, measured at `checked_at`, `age_s` seconds ago.

    `ok` is False if the part needs attention; `fails` is True if the service then does not work as it should. `detail`
    is a sentence for people. `is_stale` says that the part could not be measured lately.
    """

    name: str
    ok: bool
    detail: str
    fails: bool
    checked_at: datetime
    age_s: float
    is_stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """The state of the service as one caller may see it. `ok` is False if a part of it fails."""

    ok: bool
    checks: list[Report]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services that the API calls. `health` never raises: a failing part is a report with `ok` false."""

    capture: Capture
    failed_captures: FailedCaptures
    retrieve: Retrieve
    feedback: Feedback
    lookup: Lookup
    revision: Revision
    erasure: Erasure
    forgetting: Forgetting
    explore: Explore
    duplicates: DuplicateReview
    predicates: Predicates
    lessons: Lessons
    measures: Measures
    runs: ConsolidationRuns
    changes: Changes
    health: Callable[[Trust], Awaitable[HealthReport]]
    version: str
