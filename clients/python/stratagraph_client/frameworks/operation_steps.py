"""Operations that one piece of code yields, and their sending by an asynchronous or a synchronous client."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, NamedTuple, TypeVar

from stratagraph_client import AsyncMemory, Memory
from stratagraph_client.errors import StratagraphError

T = TypeVar("T")


class Request(NamedTuple):
    """One operation of `clients/operations` to send; the answer is its data."""

    name: str
    variables: Mapping[str, Any]


Steps = Generator[Request, dict[str, Any], T]


def carry_out(memory: Memory, steps: Steps[T]) -> T:
    """Send the requests that `steps` yields, and return what it returns. Raises StratagraphError."""
    try:
        request = next(steps)
        while True:
            try:
                answer = memory.operations.call(*request)
            except StratagraphError as error:
                request = steps.throw(error)
            else:
                request = steps.send(answer)
    except StopIteration as end:
        found: T = end.value
        return found


async def carry_out_async(memory: AsyncMemory, steps: Steps[T]) -> T:
    """Do as `carry_out` does, with an asynchronous client."""
    try:
        request = next(steps)
        while True:
            try:
                answer = await memory.operations.call(*request)
            except StratagraphError as error:
                request = steps.throw(error)
            else:
                request = steps.send(answer)
    except StopIteration as end:
        found: T = end.value
        return found
