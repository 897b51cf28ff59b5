"""Calls that wait for their results, found by id or tool in constant time, however many wait."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class InOrder(Generic[T]):
    """Items in the order in which they were added, each found by any of its keys until it is taken."""

    def __init__(self) -> None:
        self._items: dict[int, T] = {}
        self._numbers: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        self._added = 0

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: T, *keys: Hashable) -> None:
        """Add an item with its keys."""
        for key in keys:
            self._numbers[key].append(self._added)
        self._items[self._added] = item
        self._added += 1

    def take(self, *keys: Hashable) -> T | None:
        """Remove and return the first item that has any of the keys; None if none has."""
        firsts = [number for key in keys if (number := self._first(key)) is not None]
        return self._items.pop(min(firsts)) if firsts else None

    def _first(self, key: Hashable) -> int | None:
        numbers = self._numbers.get(key)
        while numbers and numbers[0] not in self._items:
            numbers.popleft()
        return numbers[0] if numbers else None


class OpenCalls(Generic[T]):
    """Calls without a result, in order.

    A result answers the first call of its id; or else the first one that it may answer as one of them has no id.
    """

    def __init__(self) -> None:
        self._calls = InOrder[T]()

    def __iter__(self) -> Iterator[T]:
        return iter(self._calls)

    def add(self, call: T, *, id_: str | None, tool: str) -> None:
        """Add a call."""
        unnamed = [("without id", None), ("without id", tool)] if id_ is None else [("id", id_)]
        self._calls.add(call, ("tool", None), ("tool", tool), *unnamed)

    def of_id(self, id_: str | None) -> T | None:
        """Remove and return the first call of an id; None without one."""
        return None if id_ is None else self._calls.take(("id", id_))

    def answered(self, id_: str | None, tool: str | None) -> T | None:
        """Remove and return the call that a result of this id and tool answers; None without one."""
        called = self.of_id(id_)
        if called is not None:
            return called
        return self._calls.take(("tool" if id_ is None else "without id", tool))
