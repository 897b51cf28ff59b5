"""Measure `impact`, `relatedEntities` and `expand` at hubs, over HTTP on a kept connection of a running service."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import httpx
import typer
from bench_fairness import service
from harness import Bound, Case, interleaved, machine, percentile, progress, report, server, store, summary, trust
from hubs import HUBS, HubStore, hub_id

from stratagraph.store.keys.credentials import Credentials
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import Trust

LIMIT_MS = 150.0  # p95 of a question at a hub
ERROR = "... on MemoryError { message }"
QUESTIONS = {
    "impact": f"""query($id: ID!) {{ found: impact(id: $id) {{ {ERROR} ... on Impact {{
      total reached hubs nodes {{ hop strength record {{ id name }} }} freshness {{ engine }} }} }} }}""",
    "relatedEntities": f"""query($id: ID!) {{ found: relatedEntities(id: $id) {{ {ERROR} ... on RelatedEntities {{
      hasMore reached hubs entities {{ shared weight entity {{ id name }} }} freshness {{ engine }} }} }} }}""",
    "expand": f"""query($id: ID!) {{ found: expand(id: $id) {{ {ERROR} ... on Expansion {{
      hasMore neighbours {{ degree more hub record {{ id name }} }} freshness {{ engine }} }} }} }}""",
}
FLOOR = (
    "query($id: ID!) { found: record(id: $id) { id name } }"  # what any request costs, on this machine under this load
)
REFILL_S = 0.3  # of up to 60 points, by two credentials in turn
CALLERS = {"all levels": Sensitivity.HYPER, "low": Sensitivity.LOW}


async def _keys(credentials: Credentials) -> dict[str, str]:
    made = {}
    for name, ceiling in CALLERS.items():
        reader = Trust(tenant="bench", actor=f"reader-{ceiling}", access=Access.READ, ceiling=ceiling, scopes=None)
        made[name] = (await credentials.create(reader))[1]
    return made


def _ask(http: httpx.AsyncClient, url: str, key: str, document: str, hub: str) -> Callable[[], Awaitable[object]]:
    async def ask() -> object:
        response = await http.post(
            f"{url}/graphql",
            json={"query": document, "variables": {"id": str(hub_id(hub))}},
            headers={"Authorization": f"Bearer {key}"},
        )
        found = response.json()
        assert "errors" not in found, found
        assert "message" not in found["data"]["found"], found
        return found["data"]["found"]

    return ask


async def _refill() -> None:
    """Wait for the points of the next question, so that the credentials' budgets suffice."""
    await asyncio.sleep(REFILL_S)


async def _answer(ask: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
    """Return what an answer counts: it says whether it was cut."""
    await _refill()
    found = await ask()
    counted = {name: len(found[name]) for name in ("nodes", "entities", "neighbours") if name in found}
    return counted | {name: found[name] for name in ("total", "reached", "hasMore") if name in found}


async def _measure(url: str, *, facts: int, rounds: int) -> tuple[dict[str, Any], list[Bound]]:
    async with AsyncExitStack() as stack:
        where = await stack.enter_async_context(store(url, "hubs"))
        tenant = (await where.directory.resolve(trust())).tenant
        with progress() as bars:
            await HubStore(where=where, tenant=tenant, facts=facts).fill(bars)
        keys = await _keys(Credentials(where.database, where.directory))
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stratagraph-bench-")))
        address, _ = await stack.enter_async_context(service(where.url, directory))
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=120))
        asks = {
            (caller, hub, name): _ask(http, address, key, document, hub)
            for caller, key in keys.items()
            for hub in HUBS
            for name, document in (QUESTIONS | {"record": FLOOR}).items()
        }
        answers = {case: await _answer(ask) for case, ask in asks.items()}
        began = perf_counter()
        cases = {case: Case(run=ask, prepare=_refill) for case, ask in asks.items()}
        took = await interleaved(cases, rounds, title="asking at hubs")
    figures: dict[str, Any] = {"facts_of_each_hub": facts, "seconds": round(perf_counter() - began, 1)}
    bounds = []
    for (caller, hub, name), values in took.items():
        figures.setdefault(caller, {}).setdefault(hub, {})[name] = {"ms": summary(values)} | answers[caller, hub, name]
        if name in ("impact", "relatedEntities"):
            p95 = round(percentile(values, 0.95), 1)
            bounds.append(Bound(name=f"{caller}, hub of {hub} facts: p95 of {name}, ms", value=p95, limit=LIMIT_MS))
    return figures, bounds


def main(
    facts: Annotated[int, typer.Option(help="Facts of each hub.", min=1_000)] = 100_000,
    rounds: Annotated[int, typer.Option(help="Number of timed questions of each kind.")] = 40,
    quick: Annotated[bool, typer.Option("--quick", help="5,000 facts for each hub, 20 questions.")] = False,
) -> None:
    """Ask about entities with many facts: all current; all but 50 superseded, expired, or hidden from a low caller.

    Bounds: `impact` and `relatedEntities` take at most 150 ms at p95. Prints one JSON document on standard output; exit
    code 1 if a bound is missed.
    """
    if quick:
        facts, rounds = 5_000, 20
    with server() as url:
        figures, bounds = asyncio.run(_measure(url, facts=facts, rounds=rounds))
        about = machine(url)
    report("hubs", figures, bounds=bounds, machine=about)


if __name__ == "__main__":
    typer.run(main)
