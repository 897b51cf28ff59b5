"""The settings of learning, which are part of the service's settings."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from stratagraph.service.embedders.settings import EmbedderSettings
from stratagraph.service.extractors.settings import ExtractorSettings


class LearningSettings(EmbedderSettings, ExtractorSettings):
    """How often the service learns from episodes, and how long it keeps those that it has not learned from."""

    consolidate_hours: float = Field(
        default=6.0, ge=0.01, le=720.0, description="hours between two runs of learning from closed episodes"
    )
    keep_unlearned_days: float = Field(
        default=90.0,
        ge=1.0,
        le=3_650.0,
        description="days for which a closed episode that learning has not read, or whose skill is not made, is kept",
    )

    @property
    def consolidate_every_s(self) -> float:
        """Seconds between two runs of learning."""
        return self.consolidate_hours * 3_600.0

    @property
    def keep_unlearned(self) -> timedelta:
        """How long an episode is kept that learning has not read, or whose skill is not made."""
        return timedelta(days=self.keep_unlearned_days)
