"""The stage `compression`: a summary of each episode, kept when the episode is forgotten.

An episode is never edited, so its summary is an event of its own that rests on it. It has the half-life of what is
learned, where the episode and its records have that of events; the episode and its records also lose half of their
salience. See docs/learning.md, Stages.
"""

from __future__ import annotations

from collections import Counter

from stratagraph.memory.learning.drafting import LearnedRecord
from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.store.model.enums import MemoryType

REMAINING = 0.5  # share of their salience that an episode and its records keep
EVENT_KIND = "episode_summary"
CONFIDENCE = 0.8  # that of an event
ASKED, SAID = 400, 300  # characters of the task, and of each other text, that a summary quotes
MAX_TOOLS, MAX_ERRORS = 12, 3  # named in a summary


class Compression:
    """Writes a summary of each episode, and lowers the salience of the episode and of its records."""

    name = "compression"
    summary = "Keep a summary of each episode, and lower the salience of its records."

    async def learn(self, batch: LearningBatch) -> StageReport:
        """Compress the episodes of the batch; one without an event has nothing to keep."""
        kept = [episode for episode in batch.episodes if episode.events or episode.calls]
        await batch.learner.create_all([_learned(episode) for episode in kept])
        records = {episode.id for episode in kept}
        records |= {event.record_id for episode in kept for event in episode.events}
        records |= {call.record_id for episode in kept for call in episode.calls}
        await batch.learner.fade(sorted(records), share=REMAINING, rationale="compressed: a summary of it is kept")
        skipped = len(batch.episodes) - len(kept)
        return StageReport(
            inputs=len(batch.episodes),
            outputs=len(kept),
            skips={"episodes without events": skipped} if skipped else {},
        )


def _learned(episode: Episode) -> LearnedRecord:
    return LearnedRecord(
        type=MemoryType.EPISODIC,
        payload={"event_kind": EVENT_KIND, "summary": summary_of(episode)},
        sources=(episode.id,),
        confidence=CONFIDENCE,
        occurred_at=episode.closed_at,
        rationale=f"summary of the episode {episode.id}",
        tags=("summary",),
        entities=episode.entities,
    )


def summary_of(episode: Episode) -> str:
    """Return what is kept of an episode in a few lines: what was asked, done, said at the end, and what came of it."""
    lines = [_cut(episode.task, ASKED) or _cut(episode.events[0].summary if episode.events else "", ASKED)]
    if episode.calls:
        used = Counter(call.tool for call in episode.calls)
        tools = [f"{tool} ×{times}" if times > 1 else tool for tool, times in list(used.items())[:MAX_TOOLS]]
        more = len(used) - len(tools)
        lines.append(f"Tools: {', '.join(tools)}{f' and {more} more' if more else ''}.")
    failed = [call for call in episode.calls if call.failed]
    lines += [f"{call.tool} failed: {_cut(call.error or '', SAID)}" for call in failed[:MAX_ERRORS]]
    last = next((turn for turn in reversed(episode.turns) if turn.role not in ("user", "human")), None)
    if last is not None and last.text.strip() != episode.task:
        lines.append(f"At the end: {_cut(last.text, SAID)}")
    if episode.outcome is not None:
        because = f": {_cut(episode.outcome_reason, SAID)}" if episode.outcome_reason else ""
        lines.append(f"Outcome: {episode.outcome}{because}")
    days = f"{episode.started_at:%Y-%m-%d}"
    return "\n".join([*(line for line in lines if line), f"{len(episode.events)} events on {days}."])


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
