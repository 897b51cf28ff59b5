"""The settings of the embedder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings

from stratagraph.memory.embedding.questions import LOWEST, PATIENCE_S
from stratagraph.service.endpoint_settings import check_endpoint
from stratagraph.store.search.embeddings import MAX_DIMENSIONS


class EmbedderSettings(BaseSettings):
    """Which embedder there is, if any, and how it is asked."""

    embedder: Literal["off", "openai", "fastembed"] = Field(
        default="off",
        description="finds records by meaning too: openai (an endpoint of that protocol) or fastembed (a local model)",
    )
    embedder_url: str | None = Field(
        default=None, description="address of the endpoint, such as https://api.openai.com/v1; `/embeddings` is added"
    )
    embedder_model: str | None = Field(default=None, description="name of the endpoint's model")
    embedder_key: SecretStr | None = Field(default=None, description="key that the endpoint asks for")
    embedder_dimensions: int | None = Field(
        default=None,
        ge=1,
        le=MAX_DIMENSIONS,
        description="dimensions to ask the endpoint for; default: the model's own",
    )
    embedder_dir: Path | None = Field(
        default=None, description="directory of the local model, in ONNX with its tokenizer; nothing is downloaded"
    )
    embedder_lowest: float = Field(
        default=LOWEST,
        ge=0,
        lt=1,
        description="cosine similarity from which a record is related to a question; it depends on the model",
    )
    embedder_wait_s: float = Field(
        default=PATIENCE_S, gt=0, le=10, description="seconds that a question waits for its vector at most"
    )

    @model_validator(mode="after")
    def embedder_is_valid(self) -> Self:
        if self.embedder == "openai":
            check_endpoint("EMBEDDER", url=self.embedder_url, model=self.embedder_model, key=self.embedder_key)
        if self.embedder == "fastembed" and self.embedder_dir is None:
            raise ValueError("STRATAGRAPH_EMBEDDER=fastembed needs STRATAGRAPH_EMBEDDER_DIR, which is not set")
        return self
