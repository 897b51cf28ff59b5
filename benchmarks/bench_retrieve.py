"""Measure retrievals over HTTP as a store grows to a million records: services side by side, asked in turn."""

from __future__ import annotations

import asyncio
import base64
from contextlib import ExitStack
from typing import Annotated, Any

import typer
from bench_wire import RETRIEVE, RETRIEVE_ANSWER, Bench, Case, Measured
from harness import MASTER_KEY, Bound, machine, opened, progress, report
from loading import Loader, filled
from shipped_service import UNTHROTTLED, ShippedService, shipped_service
from wire_client import WireClient, request
from workload import Workload

from stratagraph.store.model.trust import SINGLE_USER

GROWTH = 2.0  # most times the 95th percentile of the smallest store
SETTINGS = {**UNTHROTTLED, "master_key": base64.b64encode(MASTER_KEY).decode()}
CLIENTS = 8
IN_A_ROUND = 8  # questions by one client; three times as many by CLIENTS


def main(
    size: Annotated[list[int] | None, typer.Option(help="Records of a store; repeat for several.")] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of each case.")] = 30,
) -> None:
    """Measure retrieveGraph at 10⁴ and 10⁶ records: skewed words and entities, threads, 30 scopes, four sensitivities.

    The records are written without the service, which then indexes their words as it does after an import. Questions
    have 5 to 12 words, three of five from the text of a record. Each store has a service of its own, as `make run`
    starts it; all are asked in turn over HTTP. The bound is on the growth of the 95th percentile.
    """
    sizes = sorted(size or [10_000, 1_000_000])
    figures: dict[str, Any] = {}
    with ExitStack() as stack:
        benches = {each: _bench(stack, each) for each in sizes}
        about = machine(benches[sizes[0]].service.database_url)
        kinds: dict[str, dict[str, int]] = {
            "1 hop, 1 client": {"hops": 1, "connections": 1},
            "3 hops, 1 client": {"hops": 3, "connections": 1},
            f"1 hop, {CLIENTS} clients": {"hops": 1, "connections": CLIENTS},
        }
        took = {(each, name): Measured() for each in sizes for name in kinds}
        with progress() as bars:
            bar = bars.add_task("asking", total=rounds + 1)
            for number in range(rounds + 1):
                for (each, name), measured in took.items():
                    bench = benches[each]
                    bench.run(bench.questions(**kinds[name]), measured if number else Measured())  # first, to warm up
                bars.advance(bar)
        for each in sizes:
            figures[f"{each}"] = {
                "cases": {name: took[each, name].figures() for name in kinds},
                "statements": benches[each].statements(benches[each].questions(hops=1, connections=1)),
                "memory": benches[each].service.memory(),
            }
    least, most = (figures[f"{each}"]["cases"] for each in (sizes[0], sizes[-1]))
    bounds = [
        Bound(
            name=f"{name}: p95 at {sizes[-1]} over {sizes[0]}",
            value=most[name]["p95_ms"] / least[name]["p95_ms"],
            limit=GROWTH,
        )
        for name in kinds
    ]
    report("retrieve", figures, bounds=bounds, machine=about)


class _Asking(Bench):
    """A service with a store of many records, and questions about them."""

    def __init__(self, service: ShippedService, client: WireClient, loader: Loader) -> None:
        super().__init__(service, client, Workload(1))
        self._loader = loader

    def questions(self, hops: int, connections: int) -> Case:
        wording, said = self._loader.wording, self._loader.sample
        pick = wording.random
        return Case(
            prepare=lambda count: [
                request(RETRIEVE, {"input": {"taskDescriptor": question, "maxHops": hops}})
                for question in (wording.query_about(pick.choice(said), pick.randint(5, 12)) for _ in range(count))
            ],
            expected=RETRIEVE_ANSWER,
            count=IN_A_ROUND if connections == 1 else 3 * connections,
            connections=connections,
        )


def _bench(stack: ExitStack, size: int) -> _Asking:
    service = stack.enter_context(shipped_service(SETTINGS))
    loader = asyncio.run(_fill(service.database_url, size))
    return _Asking(service, stack.enter_context(WireClient(service.url)), loader)


async def _fill(url: str, size: int) -> Loader:
    async with opened(url) as where:
        with progress() as bars:
            return await filled(where, size, bars, tenant_name=SINGLE_USER.tenant)


if __name__ == "__main__":
    typer.run(main)
