"""The embedder that the settings name, or the model that was fetched."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from stratagraph.memory.embedding.embedder import Embedder
from stratagraph.service.embedders.fetched import fetched_model
from stratagraph.service.embedders.local_model import LocalModel, is_installed
from stratagraph.service.settings import Settings
from stratagraph.store.model.errors import Misconfigured


async def open_embedder(stack: AsyncExitStack, settings: Settings) -> Embedder | None:
    """Return the embedder that is used, which `stack` closes; None without one.

    Raises Misconfigured if it cannot be used as the settings say.
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
    if (directory := local_directory(settings)) is not None:
        return await stack.enter_async_context(await asyncio.to_thread(LocalModel, directory))
    return None


def local_directory(settings: Settings) -> Path | None:
    """Return the directory of the local model that is used; None without one.

    That is the one that the settings name, else the one that was fetched, if the extra is installed. Raises
    Misconfigured if the settings ask for a local model and there is none.
    """
    if settings.embedder in ("off", "openai"):
        return None
    directory = settings.embedder_dir or fetched_model(settings.cache_dir)
    if settings.embedder == "auto" and settings.embedder_dir is None and not is_installed():
        return None
    if settings.embedder == "fastembed" and directory is None:
        raise Misconfigured(
            f"STRATAGRAPH_EMBEDDER=fastembed needs a model, and none was fetched into {settings.cache_dir}: run"
            " `stratagraph embedder fetch`, or set STRATAGRAPH_EMBEDDER_DIR"
        )
    return directory
