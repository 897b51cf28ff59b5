"""Making the next item while the present one is used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def one_ahead(items: AsyncIterator[T]) -> AsyncGenerator[T]:
    """Yield the items, each made while the one before it is used. What making one raises is raised in its place."""
    making = asyncio.ensure_future(anext(items, None))
    try:
        while (item := await making) is not None:
            making = asyncio.ensure_future(anext(items, None))
            yield item
    finally:
        making.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await making
