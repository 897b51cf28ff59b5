"""An export in the native form (docs/export-format.md), made as it is read."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from uuid import UUID

from stratagraph.memory.transfer.chunks import Checkpoint, Chunk, Output, Phase, Position
from stratagraph.store.model.exported import PART_BYTES, ArtifactLine, ArtifactPartLine, HeaderLine, Line
from stratagraph.store.transfer.exporting import FIRST, KEYS, RELATIONS, SOURCES, TOMBSTONES, ExportReader, pages

# The bytes of the artifact with this hash, in hexadecimal; None where they are damaged or removed.
FetchArtifact = Callable[[str], Awaitable[bytes | None]]
_Lines = AsyncIterator[
    tuple[list[Line], UUID | bytes | None]
]  # and after which id or hash to continue, where it can be


class NativeStream:
    """The lines of one export. Without `fetch_artifact`, the contents of artifacts are left out."""

    def __init__(self, reader: ExportReader, header: HeaderLine, fetch_artifact: FetchArtifact | None) -> None:
        self._reader = reader
        self._header = header
        self._fetch_artifact = fetch_artifact

    async def chunks(self, start: Checkpoint | None = None) -> AsyncIterator[Chunk]:
        """Yield the export from a checkpoint on; None: from its beginning."""
        output = Output(start)
        at = start.position if start is not None else Position()
        if at.phase is Phase.HEADER:
            yield output.add([self._header, *await self._reader.predicates()], Position(Phase.ARTIFACTS))
            at = Position(Phase.ARTIFACTS)
        for phase, batches in (
            (Phase.ARTIFACTS, self._artifacts),
            (Phase.RECORDS, self._records),
            (Phase.RELATIONS, self._relations),
            (Phase.TOMBSTONES, self._tombstones),
        ):
            if phase < at.phase:
                continue
            async for lines, reached in batches(at.after if phase is at.phase else None):
                yield output.add(lines, None if reached is None else Position(phase, reached))
        yield output.end()

    async def _artifacts(self, after: UUID | bytes | None) -> _Lines:
        last = after if isinstance(after, bytes) else b""
        while found := await self._reader.artifacts(last):
            for line in found:
                last = bytes.fromhex(line.sha256)
                async for one in self._artifact(line):
                    yield [one], None
                yield [], last

    async def _artifact(self, line: ArtifactLine) -> AsyncIterator[Line]:
        data = await self._fetch_artifact(line.sha256) if self._fetch_artifact is not None else None
        if data is None:
            yield line
            return
        starts = range(0, len(data), PART_BYTES)
        yield replace(line, parts=len(starts))
        for start in starts:
            yield ArtifactPartLine(data=base64.b64encode(data[start : start + PART_BYTES]).decode())

    async def _records(self, after: UUID | bytes | None) -> _Lines:
        last = after if isinstance(after, UUID) else FIRST
        while keys := await self._reader.keys(last):
            for page in pages(keys):
                lines: list[Line] = []
                for line, rest in await self._reader.records(page):
                    lines.append(line)
                    async for part in self._reader.parts(rest):
                        yield [*lines, part], None
                        lines = []
                yield lines, page[-1].id
            last = keys[-1].id
            if len(keys) < KEYS:
                break

    async def _relations(self, after: UUID | bytes | None) -> _Lines:
        last = after if isinstance(after, UUID) else FIRST
        while sources := await self._reader.sources(last):
            lines: list[Line] = []
            for found, rest in await self._reader.relations(sources):
                lines += found
                async for more in self._reader.lighter(rest):
                    yield lines, None
                    lines = [*more]
                if len(lines) >= RELATIONS:
                    yield lines, None
                    lines = []
            last = sources[-1]
            yield lines, last
            if len(sources) < SOURCES:
                break

    async def _tombstones(self, after: UUID | bytes | None) -> _Lines:
        last = after if isinstance(after, UUID) else FIRST
        while found := await self._reader.tombstones(last):
            last = found[-1].id
            yield [*found], last
            if len(found) < TOMBSTONES:
                break
