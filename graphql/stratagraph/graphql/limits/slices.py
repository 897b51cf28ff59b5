"""Execution in slices: completing a long list lets other requests run in between.

Completing a list is a computation. By columns it takes a few microseconds for each record (see `columns`), field by
field about a tenth of a millisecond, so that a thousand records would keep all other requests of the process waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Any

from graphql.pyutils import gather_with_cancel
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from stratagraph.graphql.columns import Completion, LeftToExecutor, completion
from stratagraph.graphql.limits.courtesy import give_way
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.error_reports import error_report

SLICE = 25  # items completed one by one without a break
COLUMN_SLICE = 400  # items completed by columns without a break
BATCH = 100  # items whose further reads are batched; a multiple of SLICE
_log = get_logger(__name__)


class SlicedExecution(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's execution, with lists completed by columns where that is possible, and with breaks in long lists.

    Answers are the same, except that an item that makes the whole list null spares those after its batch.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # By the identity of a selection, which is kept with its completion so that it is not used again.
        self._completions: dict[int, tuple[object, Completion | None]] = {}

    def complete_iterable_value(  # the signature is graphql-core's
        self, item_type: Any, field_details_list: Any, info: Any, path: Any, items: Iterable[Any], position_context: Any
    ) -> Any:
        complete = self._completion(item_type, field_details_list) if isinstance(items, list | tuple) else None
        if complete is None:
            return self._complete_singly(item_type, field_details_list, info, path, items, position_context)
        assert isinstance(items, list | tuple)  # or there is no completion
        if len(items) > COLUMN_SLICE:
            return self._complete_columns_in_slices(
                complete, item_type, field_details_list, info, path, items, position_context
            )
        try:
            return list(complete(items))
        except Exception as error:
            _note(error)
            return self._complete_singly(item_type, field_details_list, info, path, items, position_context)

    def _completion(self, item_type: Any, field_details_list: Any) -> Completion | None:
        """Return the completion of the list's items by columns; None if they are completed one by one."""
        known = self._completions.get(id(field_details_list))
        if known is not None:
            return known[1]
        complete = None
        if self.middleware_manager is None or not self.middleware_manager.middlewares:
            try:
                complete = completion(item_type, field_details_list, self.collect_subfields)
            except Exception as error:
                _note(error)
        self._completions[id(field_details_list)] = (field_details_list, complete)
        return complete

    async def _complete_columns_in_slices(
        self,
        complete: Completion,
        item_type: Any,
        field_details_list: Any,
        info: Any,
        path: Any,
        items: Sequence[Any],
        position_context: Any,
    ) -> Any:
        completed: list[Any] = []
        try:
            for start in range(0, len(items), COLUMN_SLICE):
                if start:
                    await give_way()
                completed += complete(items[start : start + COLUMN_SLICE])
        except Exception as error:
            _note(error)
            return await self._complete_in_slices(item_type, field_details_list, info, path, items, position_context)
        return completed

    def _complete_singly(
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


def _note(error: Exception) -> None:
    """Log what stopped a completion by columns, by its type alone; the executor answers, and raises it per item.

    A selection or value that is simply not one for columns is no error.
    """
    if not isinstance(error, LeftToExecutor):
        _log.warning("list not completed by columns", **error_report(error))
