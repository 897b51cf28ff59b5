"""The embedder that the settings name."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from stratagraph.memory.embedding.embedder import Embedder
from stratagraph.service.settings import Settings


async def open_embedder(stack: AsyncExitStack, settings: Settings) -> Embedder | None:
    """Return the embedder that the settings name, which `stack` closes; None if they name none.

    Raises Misconfigured if it cannot be used as they say.
    """
    if settings.embedder == "openai":
        from stratagraph.service.embedders.endpoint import EmbeddingEndpoint

        assert settings.embedder_url is not None
        assert settings.embedder_model is not None
        key = settings.embedder_key.get_secret_value() if settings.embedder_key is not None else None
        return await stack.enter_async_context(
            EmbeddingEndpoint(
                settings.embedder_url,
                model=settings.embedder_model,
                key=key,
                dimensions=settings.embedder_dimensions,
            )
        )
    if settings.embedder == "fastembed":
        from stratagraph.service.embedders.local_model import LocalModel

        assert settings.embedder_dir is not None
        return await stack.enter_async_context(await asyncio.to_thread(LocalModel, settings.embedder_dir))
    return None
