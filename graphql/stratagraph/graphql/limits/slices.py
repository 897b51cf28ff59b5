"""Execution in slices: completing a long list lets other requests run in between.

Completing a list is a computation that takes about a tenth of a millisecond for each record, so that a thousand records
would keep all other requests of the process waiting for a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any

from graphql.pyutils import gather_with_cancel
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from stratagraph.graphql.limits.courtesy import give_way

SLICE = 25  # items completed without a break
BATCH = 100  # items whose further reads are batched; a multiple of SLICE


class SlicedExecution(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's execution, with a break after each SLICE items of a list.

    Answers are the same, except that an item that makes the whole list null spares those after its batch.
    """

    def complete_iterable_value(  # the signature is graphql-core's
        self, item_type: Any, field_details_list: Any, info: Any, path: Any, items: Iterable[Any], position_context: Any
    ) -> Any:
        if not isinstance(items, Sized) or len(items) <= SLICE:
            return super().complete_iterable_value(item_type, field_details_list, info, path, items, position_context)
        return self._complete_in_slices(item_type, field_details_list, info, path, items, position_context)

    async def _complete_in_slices(
        self, item_type: Any, field_details_list: Any, info: Any, path: Any, items: Iterable[Any], position_context: Any
    ) -> list[Any]:
        completed: list[Any] = []
        for index, item in enumerate(items):
            item_path = path.add_key(index, None)
            if index and index % SLICE == 0:
                if index % BATCH == 0:
                    await self._settle(completed, index - BATCH)
                await give_way()
            if self.is_awaitable(item):
                completed.append(
                    self.complete_awaitable_list_item_value(
                        item, item_type, field_details_list, info, item_path, position_context
                    )
                )
                continue
            try:
                self.complete_list_item_value(
                    item, completed, item_type, field_details_list, info, item_path, position_context
                )
            except Exception:
                self.settle_in_background([one for one in completed[-BATCH:] if self.is_awaitable(one)])
                raise
        await self._settle(completed, (len(completed) - 1) // BATCH * BATCH)
        return completed

    async def _settle(self, completed: list[Any], start: int) -> None:
        """Await the items from `start` on that are not complete yet, together, so that their reads are batched."""
        places = [place for place in range(start, len(completed)) if self.is_awaitable(completed[place])]
        if places:
            results = await gather_with_cancel(*(completed[place] for place in places))
            for place, result in zip(places, results, strict=True):
                completed[place] = result
