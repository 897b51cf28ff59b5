"""The settings of learning, which are part of the service's settings."""

from __future__ import annotations

from pydantic import Field

from stratagraph.service.embedders.settings import EmbedderSettings
from stratagraph.service.extractors.settings import ExtractorSettings


class LearningSettings(EmbedderSettings, ExtractorSettings):
    """How often the service learns from episodes."""

    consolidate_hours: float = Field(
        default=6.0, ge=0.01, le=720.0, description="hours between two runs of learning from closed episodes"
    )

    @property
    def consolidate_every_s(self) -> float:
        """Seconds between two runs of learning."""
        return self.consolidate_hours * 3_600.0
