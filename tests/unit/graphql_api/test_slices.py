"""Execution in slices gives the answers of Strawberry's own execution, and lets others run in between."""

from __future__ import annotations

import asyncio

import pytest
import strawberry

from stratagraph.graphql.limits.slices import BATCH, COLUMN_SLICE, SLICE, SlicedExecution


@strawberry.type
class Item:
    number: int

    @strawberry.field
    async def late(self) -> int:
        await asyncio.sleep(0)
        return -self.number

    @strawberry.field
    def odd(self) -> int | None:
        if self.number % 40 == 39:
            raise ValueError(f"item {self.number}")
        return self.number

    @strawberry.field
    def squared(self) -> int:
        return self.number**2

    @strawberry.field
    async def strict(self) -> int:
        if self.number == 60:
            raise ValueError("strict")
        return self.number


@strawberry.type
class Query:
    @strawberry.field
    def items(self, count: int) -> list[Item]:
        return [Item(number=number) for number in range(count)]


SLICED = strawberry.Schema(Query, execution_context_class=SlicedExecution)
WHOLE = strawberry.Schema(Query)


@pytest.mark.parametrize("fields", ["number", "number late", "number odd", "late odd", "strict", "number strict odd"])
@pytest.mark.parametrize("count", [0, 1, SLICE, SLICE + 1, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH + SLICE + 7])
async def test_answers_and_errors_are_those_of_the_whole_execution(fields: str, count: int) -> None:
    document = f"{{ items(count: {count}) {{ {fields} }} }}"
    whole, sliced = await WHOLE.execute(document), await SLICED.execute(document)
    assert sliced.data == whole.data

    errors, expected = (
        {(error.message, *(error.path or ())) for error in result.errors or ()} for result in (sliced, whole)
    )
    if sliced.data is None:  # the items after the one that made the list null need not be completed
        assert errors
        assert errors <= expected
    else:
        assert errors == expected


@pytest.mark.parametrize(("fields", "count"), [("number", 10 * COLUMN_SLICE), ("number squared", 10 * SLICE)])
async def test_other_tasks_run_between_the_slices(fields: str, count: int) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    began = turns
    result = await SLICED.execute(f"{{ items(count: {count}) {{ {fields} }} }}")
    assert result.errors is None
    assert turns - began >= 9
    task.cancel()
