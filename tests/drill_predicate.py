"""Run by test_change_drills.py in a copy of the source tree: does `inferred` count as a derivation everywhere?

Prints one JSON object. Called with the URL of a migrated, empty database.
"""

from __future__ import annotations

import asyncio
import json
import sys

from fix_memory import memory_of

from stratagraph.memory.engines.service import Engines
from stratagraph.memory.explore.service import Explore
from stratagraph.store.erasure.closure import erasure_closure
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.predicates import inverse
from stratagraph.store.postgres.database import Database, Role, elevated
from stratagraph.store.records.support import fetch_downstream


async def main(url: str) -> dict[str, object]:
    async with Database(url) as database:
        memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
        source = (await memory.observe("Alice", "works_at", "Acme")).primary
        reference = {"ref": str(source.id), "predicate": "inferred_from"}
        derived = (await memory.observe("Alice", "lives_in", "Rome", context={"references": [reference]})).primary
        caller = await memory.directory.resolve(memory.trust)
        async with database.background(Role.ERASE) as connection, elevated(connection, caller.bounds):
            closure = await erasure_closure(connection, caller.tenant, [source.id], whole=False)
            downstream = await fetch_downstream(connection, caller, [source.id])
        impacts, _ = await memory.revision.impact(memory.trust, source.id)
        asked = Explore(database, memory.directory, memory.clock, Engines(mirror=None, feed=None))
        impact = await asked.impact(memory.trust, source.id, hops=1)
        assert impact is not None
        return {
            "inverse": inverse("inferred"),
            "propagation": derived.id in downstream,
            "revision_impact": derived.id in {one.record.id for one in impacts},
            "graph_impact": derived.id in {one.record.id for one in impact.nodes},
            "erasure": derived.id in closure.ids | closure.survivors,
        }


print(json.dumps(asyncio.run(main(sys.argv[1]))))
