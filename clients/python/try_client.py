"""Shows the use of the generated client: .venv/bin/python try_client.py http://127.0.0.1:8000"""

from __future__ import annotations

import asyncio
import json
import sys

from stratagraph_client import (
    CaptureMemoryInput,
    ChangeFilter,
    MemoryType,
    RecordFilter,
    RetractInput,
    RetrieveGraphInput,
    SourceKind,
    StratagraphClient,
)


async def main(url: str) -> None:
    async with StratagraphClient(f"{url}/graphql", ws_url=f"{url.replace('http', 'ws', 1)}/graphql") as client:
        assert (await client.health()).health.ok
        position = (await client.changes()).changes.pageInfo.endCursor

        given = CaptureMemoryInput(
            source="try_client.py",
            sourceKind=SourceKind.OBSERVATION,
            content={"subject": "Alice", "predicate": "works_at", "object": "Acme"},
        )
        captured = (await client.capture_memory(given)).captureMemory
        if captured.typename__ != "CaptureMemorySuccess":
            raise SystemExit(f"{captured.code}: {captured.message}")
        fact = captured.primaryRecord

        only_facts = ChangeFilter(types=[MemoryType.SEMANTIC])
        async for message in client.changed(after=position, filter_=only_facts):
            assert message.changed.recordId == fact.id, "the first change is the capture"
            break

        question = RetrieveGraphInput(
            taskDescriptor="Where does Alice work?", atLeastSequence=captured.receipt.sequence
        )
        found = (await client.retrieve_graph(question)).retrieveGraph
        if found.typename__ != "RetrieveGraphSuccess":
            raise SystemExit(f"{found.code}: {found.message}")
        assert found.nodes[0].record.id == fact.id, "the fact was not found"

        names: list[str | None] = []
        after: str | None = None
        while True:
            page = (await client.records(RecordFilter(types=[MemoryType.SEMANTIC]), first=1, after=after)).records
            names += [record.name for record in page.nodes]
            after = page.pageInfo.endCursor
            if not page.pageInfo.hasNextPage:
                break

        retraction = RetractInput(recordId=fact.id, rationale="to try it", expectedVersion=fact.version + 7)
        refused = (await client.retract(retraction)).retract
        if refused.typename__ != "VersionConflict":
            raise SystemExit(refused.typename__)
        shown = {"name": fact.name, "names": names, "code": refused.code.value, "current": refused.current}
        print(json.dumps(shown))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
