"""Fills a database by the code of commit 3d3e799, whose schema is 0008, and with the helpers of its tests.

Run with PYTHONPATH naming the source roots of that commit and its tests; the arguments are the URLs of the three
logins. It is never edited to follow the code of today: it speaks to that of its commit.
"""

from __future__ import annotations

import asyncio
import sys

from fix_memory import Memory, memory_of
from story import tell
from stratagraph.store.database import Database
from stratagraph.store.enums import Sensitivity, SourceKind
from stratagraph.store.schema import migrate
from stratagraph.store.sealing.master import LocalMasterKey
from stratagraph.store.sealing.vault import Vault
from stratagraph.store.tenancy import Directory

TOOLS = ("search_logs", "compare_clocks", "run_tests", "deploy")


async def fill(memory: Memory) -> None:
    """Capture facts about tools, in no scope, before the story uses these tools in a scope and learning reads it."""
    for tool in TOOLS:
        await memory.observe("Lantern", f"depends_on_{tool}", tool)
    await tell(memory)
    for number in range(2):
        thread = f"task {number}"
        await memory.turn("Look at the monitors", thread=thread)
        for name in ("grafana", "jaeger"):
            call = {"thread_id": thread, "tool_name": name, "args": {"q": thread}, "result": {"found": 1}}
            await memory.remember(SourceKind.TOOL_OUTPUT, call)
        await memory.remember(SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": "success"})
    await memory.observe("Ben Okafor", "earns", "band 7", sensitivity=Sensitivity.HIGH)


async def main(owner: str, api: str, worker: str) -> None:
    migrate(owner, api_url=api, worker_url=worker)
    async with Database(api, worker) as database:
        await fill(memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32))))))


asyncio.run(main(*sys.argv[1:]))
