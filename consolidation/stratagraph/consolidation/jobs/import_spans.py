"""Import the conversations of spans that instrumented agents sent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSpansConfig(JobConfig):
    """The interval and batch size of ImportSpans."""

    interval_s: float = 2.0
    batch: int = 50  # traces in one run
    waiting_s: float = 1.0  # between two runs while spans wait for the end of their trace


class ImportSpans:
    """Imports the conversations of traces of which no span came lately, and deletes the spans of those that are over.

    A conversation is read from all its spans each time, and only what is new of it is stored, so a run may be stopped
    at any instant.
    """

    name = "import-spans"
    summary = "Import the conversations of spans that instrumented agents sent."

    def __init__(self, resources: Resources, config: ImportSpansConfig | None = None) -> None:
        self._intake = resources.span_intake
        self.config = config or ImportSpansConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Import at most `batch` traces that are due at `now`, and finish as many; `more` if as many were due."""
        counts: Counter[str] = Counter(traces_imported=0, captures_stored=0, spans_deleted=0)
        due = await self._intake.due(now=now, limit=self.config.batch)
        finished = await self._intake.finished(now=now, limit=self.config.batch)
        for key in due:
            summary = await self._intake.import_trace(key, now=now)
            counts["traces_imported"] += summary is not None
            counts["captures_stored"] += summary.captured if summary is not None else 0
        for key in finished:
            summary = await self._intake.import_trace(key, now=now)
            counts["captures_stored"] += summary.captured if summary is not None else 0
            counts["spans_deleted"] += await self._intake.forget(key, now=now)
        more = self.config.batch in (len(due), len(finished))
        pause_s = self.config.waiting_s if not more and await self._intake.is_waiting() else None
        return JobResult(counts=dict(counts), more=more, pause_s=pause_s)
