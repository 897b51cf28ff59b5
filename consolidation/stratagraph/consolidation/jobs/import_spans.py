"""Import the conversations of spans that instrumented agents sent."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources
from stratagraph.store.records.received_spans import WaitingTrace

MAX_CALLERS = 10_000  # whose turn is remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSpansConfig(JobConfig):
    """The interval and batch size of ImportSpans."""

    interval_s: float = 2.0
    batch: int = 50  # traces in one run
    longest_s: float = 10.0  # after which a run begins no further trace, but for the first of each kind
    waiting_s: float = 1.0  # between two runs while spans wait for the end of their trace


class ImportSpans:
    """Imports the conversations of traces of which no span came lately, and deletes the spans of those that are over.

    A conversation is read from its spans each time, and only what is new of it is stored, so a run may be stopped at
    any instant. A run is short, and callers come in turn, the one first whose last turn is longest ago: so none waits
    long for the many spans of another.
    """

    name = "import-spans"
    summary = "Import the conversations of spans that instrumented agents sent."

    def __init__(self, resources: Resources, config: ImportSpansConfig | None = None) -> None:
        self._intake = resources.span_intake
        self.config = config or ImportSpansConfig()
        self._served: dict[tuple[int, str], float] = {}  # when a trace of a caller was last imported by this server

    async def run_once(self, now: datetime) -> JobResult:
        """Import at most `batch` traces that are due at `now`, and finish as many; `more` if further ones are due."""
        counts: Counter[str] = Counter(traces_imported=0, captures_stored=0, refused=0, spans_deleted=0)
        due = await self._intake.due(now=now, limit=self.config.batch)
        finished = await self._intake.finished(now=now, limit=self.config.batch)
        left = 0
        for waiting, are_over in ((due, False), (finished, True)):
            began = time.monotonic()
            for place, one in enumerate(sorted(waiting, key=self._turn)):
                if place and time.monotonic() > began + self.config.longest_s:
                    left += len(waiting) - place
                    break
                self._serve(one)
                summary = await self._intake.import_trace(one.key, now=now)
                if summary is not None:
                    counts["traces_imported"] += not are_over
                    counts["captures_stored"] += summary.captured
                    counts["refused"] += len(summary.refused)
                if are_over:
                    counts["spans_deleted"] += await self._intake.forget(one.key, now=now)
        more = left > 0 or self.config.batch in (len(due), len(finished))
        pause_s = self.config.waiting_s if not more and await self._intake.is_waiting() else None
        return JobResult(counts=dict(counts), more=more, pause_s=pause_s)

    def _turn(self, waiting: WaitingTrace) -> tuple[int, float]:
        return waiting.turn, self._served.get(waiting.caller, 0.0)

    def _serve(self, waiting: WaitingTrace) -> None:
        self._served.pop(waiting.caller, None)
        self._served[waiting.caller] = time.monotonic()
        if len(self._served) > MAX_CALLERS:
            del self._served[next(iter(self._served))]
