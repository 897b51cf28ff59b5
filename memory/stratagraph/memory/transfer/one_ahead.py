"""Making the next item while the present one is used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_thread(items: Iterator[T]) -> AsyncIterator[T]:
    """Yield the items, each made apart from the event loop."""
    while (item := await asyncio.to_thread(next, items, None)) is not None:
        yield item


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
