"""The extractor that the settings name."""

from __future__ import annotations

from contextlib import AsyncExitStack

from stratagraph.memory.learning.extraction.extractor import Extractor
from stratagraph.service.settings import Settings


async def open_extractor(stack: AsyncExitStack, settings: Settings) -> Extractor | None:
    """Return the extractor that the settings name, which `stack` closes; None if they name none."""
    if settings.extractor == "off":
        return None
    from stratagraph.service.extractors.endpoint import ChatEndpoint

    assert settings.extractor_url is not None
    assert settings.extractor_model is not None
    key = settings.extractor_key.get_secret_value() if settings.extractor_key is not None else None
    return await stack.enter_async_context(
        ChatEndpoint(settings.extractor_url, model=settings.extractor_model, key=key)
    )
