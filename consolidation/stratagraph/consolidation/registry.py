"""All background jobs. A new job is one module in `jobs` and one entry here."""

from __future__ import annotations

from collections.abc import Callable

from stratagraph.consolidation.job import Job, Resources
from stratagraph.consolidation.jobs.close_episodes import CloseEpisodes
from stratagraph.consolidation.jobs.consolidate import Consolidate
from stratagraph.consolidation.jobs.count_words import CountWords
from stratagraph.consolidation.jobs.embed import Embed
from stratagraph.consolidation.jobs.import_spans import ImportSpans
from stratagraph.consolidation.jobs.interpret_captures import InterpretCaptures
from stratagraph.consolidation.jobs.link_names import LinkNames
from stratagraph.consolidation.jobs.log_days import LogDays
from stratagraph.consolidation.jobs.prune import Prune
from stratagraph.consolidation.jobs.reevaluate import Reevaluate
from stratagraph.consolidation.jobs.retry_captures import RetryCaptures
from stratagraph.consolidation.jobs.sweep_artifacts import SweepArtifacts
from stratagraph.consolidation.jobs.take_census import TakeCensus
from stratagraph.consolidation.jobs.trim_logs import TrimLogs

JOBS: tuple[Callable[[Resources], Job], ...] = (
    CloseEpisodes,
    Consolidate,
    CountWords,
    Embed,
    ImportSpans,
    InterpretCaptures,
    LinkNames,
    LogDays,
    Prune,
    Reevaluate,
    RetryCaptures,
    SweepArtifacts,
    TakeCensus,
    TrimLogs,
)


def build_jobs(resources: Resources) -> list[Job]:
    """Return an instance of every job in JOBS, with its default config.

    Without an embedder, there is no Embed, and without a language model no InterpretCaptures.
    """
    missing: dict[object, bool] = {
        Embed: resources.embedder is None,
        InterpretCaptures: resources.reading_soon is None,
    }
    return [job(resources) for job in JOBS if not missing.get(job, False)]
