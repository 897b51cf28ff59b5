"""The services that the API calls, and the form of their health reports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from stratagraph.memory.capture.retries import FailedCaptures
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.erase.service import Erasure
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.forgetting import Forgetting
from stratagraph.memory.lookup import Lookup
from stratagraph.memory.predicates import Predicates
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.revise.service import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The state of one part of the service. `ok` is False if it needs attention; `detail` is a sentence for people."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services that the API calls. `health` never raises: a failing part is a report with `ok` false."""

    capture: Capture
    failed_captures: FailedCaptures
    retrieve: Retrieve
    lookup: Lookup
    revision: Revision
    erasure: Erasure
    forgetting: Forgetting
    explore: Explore
    predicates: Predicates
    health: Callable[[], Awaitable[list[Report]]]
    version: str
