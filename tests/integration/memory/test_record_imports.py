"""Importing exports: into an empty instance, a filled one, again, and with what contradicts."""

from __future__ import annotations

from fix_memory import Memory, link
from fix_transfer import Transfer, differences, share_index_key
from story import capture_story


async def test_an_import_leaves_the_rows_that_captures_left(memory: Memory, other: Memory, transfer: Transfer) -> None:
    await share_index_key(memory, other)
    await capture_story(memory)
    await link(memory)
    before = await transfer.text(memory)

    report = await transfer.imported(other, transfer.file(before))

    assert report.refused == []
    assert await transfer.text(other) == before
    assert await differences(memory, other) == {}
