"""A session of the OpenAI Agents SDK in the memory: its items as they were, and the conversation as an episode."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

try:
    from agents.items import TResponseInputItem
    from agents.memory.session import SessionABC
    from agents.memory.session_settings import SessionSettings, resolve_session_limit
except ImportError as error:
    raise ImportError(
        "The OpenAI Agents SDK is not installed; run: pip install 'stratagraph-client[openai-agents]'"
    ) from error

from stratagraph_client import AsyncMemory
from stratagraph_client.frameworks.item_log import ItemLog, line_of
from stratagraph_client.frameworks.operation_steps import carry_out_async
from stratagraph_client.frameworks.response_items import ItemReader
from stratagraph_client.frameworks.steps import StepCapture, StepReader
from stratagraph_client.operations.enums import Sensitivity

MOST_ID = 240  # characters of the id of a session
T = TypeVar("T")


class StratagraphSession(SessionABC):
    """The history of a conversation, for `Runner.run(agent, input, session=...)`.

        async with AsyncMemory() as memory:
            session = StratagraphSession("support-42", memory)
            await Runner.run(agent, "My name is Ann", session=session)

    Items are returned as they were added. The turns and calls of tools are also the episode of the thread `session_id`,
    which every client recalls. Programs may share a session: its items are in the order in which they were stored. All
    methods raise StratagraphError.
    """

    def __init__(
        self,
        session_id: str,
        memory: AsyncMemory,
        *,
        scope: str | None = None,
        sensitivity: Sensitivity | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        if not session_id.strip() or len(session_id) > MOST_ID:
            raise ValueError(f"session_id: must have 1 to {MOST_ID} characters, not {len(session_id)}")
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._memory = memory
        self._log = ItemLog(session_id, "openai-agents", scope, sensitivity)
        self._lock = asyncio.Lock()
        self._readers: tuple[ItemReader, StepReader] | None = None

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items in their order, at most the last `limit`."""
        limit = resolve_session_limit(limit, self.session_settings)
        if limit == 0:
            return []
        # Of the SDK's other sessions, a negative limit is none.
        steps = self._log.items() if limit is None or limit < 0 else self._log.latest(limit)
        return [json.loads(item.text) for item in await carry_out_async(self._memory, steps)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items in one transaction, with what they say and call."""
        if items:
            await _finished(self._add(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take back the last item and return it; None where there is none. A turn is erased from the episode too."""
        return await _finished(self._pop())

    async def clear_session(self) -> None:
        """Erase all items, and the episodes of the conversation."""
        await _finished(self._clear())

    async def close(self) -> None:
        """Capture the calls that still wait for a result, once the conversation has ended."""
        async with self._lock:
            if self._readers is not None:
                waiting = self._readers[1].unanswered()
                await carry_out_async(self._memory, self._log.capture(self._in_thread(waiting)))

    async def _add(self, items: list[TResponseInputItem]) -> None:
        lines = [line_of(item) for item in items]
        async with self._lock:
            read, steps = await self._state()
            captures = steps.read(read.read(items))
            try:
                await carry_out_async(self._memory, self._log.append(lines, self._in_thread(captures)))
            except BaseException:
                self._readers = None  # they know items that may not be stored
                raise

    async def _pop(self) -> TResponseInputItem | None:
        async with self._lock:
            self._readers = None
            item = await carry_out_async(self._memory, self._log.pop())
        return json.loads(item.text) if item is not None else None

    async def _clear(self) -> None:
        async with self._lock:
            self._readers = None
            await carry_out_async(self._memory, self._log.clear(self.session_id))

    async def _state(self) -> tuple[ItemReader, StepReader]:
        """Return the readers, which know the calls and results of the items that are stored."""
        if self._readers is None:
            self._readers = ItemReader(), StepReader()
            stored = await carry_out_async(self._memory, self._log.items())
            read, steps = self._readers
            steps.read(read.read([json.loads(item.text) for item in stored]))
        return self._readers

    def _in_thread(self, captures: list[StepCapture]) -> list[tuple[str, StepCapture]]:
        return [(self.session_id, capture) for capture in captures]


async def _finished(work: Coroutine[Any, Any, T]) -> T:
    """Return what a change returns, and let it end although the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
        raise
