"""The settings of the extractor."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings

from stratagraph.memory.learning.extraction.limits import TOKENS
from stratagraph.service.endpoint_settings import check_endpoint


class ExtractorSettings(BaseSettings):
    """Which language model extracts facts from episodes, if any, and how much it may be asked."""

    extractor: Literal["off", "openai"] = Field(
        default="off",
        description="extracts facts from closed episodes: openai, an endpoint that speaks OpenAI's chat completions",
    )
    extractor_url: str | None = Field(
        default=None,
        description="address of the endpoint, such as https://api.openai.com/v1; `/chat/completions` is added",
    )
    extractor_model: str | None = Field(default=None, description="name of the endpoint's model")
    extractor_key: SecretStr | None = Field(default=None, description="key that the endpoint asks for")
    extractor_tokens: int = Field(
        default=TOKENS,
        ge=1_000,
        description="tokens of requests and answers together for one tenant in one run of learning, at most",
    )

    @model_validator(mode="after")
    def extractor_is_valid(self) -> Self:
        if self.extractor == "openai":
            check_endpoint("EXTRACTOR", url=self.extractor_url, model=self.extractor_model, key=self.extractor_key)
        return self
