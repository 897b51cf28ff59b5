"""Imported records reach the mirror as captured ones do."""

from __future__ import annotations

import pytest
from exported_store import fill
from fix_memory import Memory
from fix_mirror import MirroredMemory
from fix_transfer import Transfer

pytestmark = pytest.mark.neo4j


async def test_the_mirror_of_an_import_has_what_the_store_has(
    other: Memory, mirrored: MirroredMemory, transfer: Transfer
) -> None:
    await fill(other)
    report = await transfer.imported(mirrored.memory, await transfer.exported(other))
    assert report.refused == []
    await mirrored.sync()
    assert await mirrored.mirror_is_equal()
    assert (await mirrored.worker.checker.verify(deep=True, within_s=5.0)).equal
