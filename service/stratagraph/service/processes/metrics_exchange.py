"""Metrics of all processes of a service in one answer: the process that is asked asks the others, and labels each."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping

import orjson
from prometheus_client.metrics_core import Metric

from stratagraph.service.processes.board import Member

PATIENCE_S = 1.0  # for which another process is waited for; its metrics are left out then
LABEL = "process"


@contextlib.asynccontextmanager
async def serve_metrics(member: Member, families: Callable[[], Iterable[Metric]]) -> AsyncIterator[None]:
    """Send this process's metrics to each process that asks, during the block."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            writer.write(_packed(families()))
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    # It takes the place of the socket of the process that was here before.
    server = await asyncio.start_unix_server(answer, _path(member, member.index))
    async with server:
        yield


async def fetch_metrics(member: Member) -> dict[str, list[Metric]]:
    """Return the metrics of the other processes that are ready, by the process's name."""
    others = [one for one, state in enumerate(member.board.states()) if one != member.index and state.is_ready]
    found = await asyncio.gather(*(_ask(member, other) for other in others))
    return {member.board.names[other]: got for other, got in zip(others, found, strict=True) if got is not None}


def merge_by_process(by_process: Mapping[str, Iterable[Metric]]) -> list[Metric]:
    """Return one family of each name, with a sample of each process under its label."""
    families: dict[str, Metric] = {}
    for process, metrics in by_process.items():
        for metric in metrics:
            merged = families.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
            for sample in metric.samples:
                merged.add_sample(sample.name, {**sample.labels, LABEL: process}, sample.value)
    return list(families.values())


async def _ask(member: Member, other: int) -> list[Metric] | None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_unix_connection(_path(member, other))
            try:
                return _unpacked(await reader.read(-1))
            finally:
                writer.close()
    except (OSError, TimeoutError, orjson.JSONDecodeError):
        return None


def _path(member: Member, index: int) -> str:
    return f"{member.directory}/{index}"


def _packed(families: Iterable[Metric]) -> bytes:
    return orjson.dumps(
        [
            [one.name, one.documentation, one.type, [[part.name, part.labels, part.value] for part in one.samples]]
            for one in families
        ]
    )


def _unpacked(packed: bytes) -> list[Metric]:
    families = []
    for name, documentation, type_, samples in orjson.loads(packed):
        family = Metric(name, documentation, type_)
        for sample, labels, value in samples:
            family.add_sample(sample, labels, value)
        families.append(family)
    return families
