"""An export in the native form (docs/export-format.md), made as it is read."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from stratagraph.memory.transfer.chunks import Checkpoint, Chunk, Output, Phase, Position
from stratagraph.store.model.exported import PART_BYTES, ArtifactLine, ArtifactPartLine, HeaderLine, Line
from stratagraph.store.transfer.exporting import FIRST, KEYS, RELATIONS, SOURCES, TOMBSTONES, ExportReader, pages

# The bytes of the artifact with this hash, in hexadecimal; None where they are damaged or removed.
FetchArtifact = Callable[[str], Awaitable[bytes | None]]
_After = UUID | bytes | None  # an id or a hash; None: from the beginning


class NativeStream:
    """The lines of one export. Without `fetch_artifact`, the contents of artifacts are left out."""

    def __init__(self, reader: ExportReader, header: HeaderLine, fetch_artifact: FetchArtifact | None) -> None:
        self._reader = reader
        self._header = header
        self._fetch_artifact = fetch_artifact

    async def chunks(self, start: Checkpoint | None = None) -> AsyncGenerator[Chunk]:
        """Yield the export from a checkpoint on; None: from its beginning."""
        output = Output(start)
        at = start.position if start is not None else Position()
        if at.phase is Phase.HEADER:
            yield output.add([self._header, *await self._reader.predicates()], Position(Phase.ARTIFACTS))
            at = Position(Phase.ARTIFACTS)
        for phase, chunks in (
            (Phase.ARTIFACTS, self._artifacts),
            (Phase.RECORDS, self._records),
            (Phase.RELATIONS, self._relations),
            (Phase.TOMBSTONES, self._tombstones),
        ):
            if phase >= at.phase:
                async for chunk in chunks(output, at.after if phase is at.phase else None):
                    yield chunk
        yield output.end()

    async def _artifacts(self, output: Output, after: _After) -> AsyncGenerator[Chunk]:
        last = after if isinstance(after, bytes) else b""
        while found := await self._reader.artifacts(last):
            for line in found:
                last = bytes.fromhex(line.sha256)
                async for one in self._artifact(line):
                    yield output.add([one], None)
                yield output.add([], Position(Phase.ARTIFACTS, last))

    async def _artifact(self, line: ArtifactLine) -> AsyncIterator[Line]:
        data = await self._fetch_artifact(line.sha256) if self._fetch_artifact is not None else None
        if data is None:
            yield line
            return
        starts = range(0, len(data), PART_BYTES)
        yield replace(line, parts=len(starts))
        for start in starts:
            yield ArtifactPartLine(data=base64.b64encode(data[start : start + PART_BYTES]).decode())

    async def _records(self, output: Output, after: _After) -> AsyncGenerator[Chunk]:
        last = after if isinstance(after, UUID) else FIRST
        lines: list[Line] = []  # of the last page, which are written while the server reads the next one
        while keys := await self._reader.keys(last):
            for page in pages(keys):
                written: list[Chunk] = []
                write = partial(_write, output, lines, Position(Phase.RECORDS, last), written)
                found = await self._reader.records(page, meanwhile=write)
                yield written[0]
                lines = []
                for line, rest in found:
                    lines.append(line)
                    async for part in self._reader.parts(rest):
                        yield output.add([*lines, part], None)
                        lines = []
                last = page[-1].id
            if len(keys) < KEYS:
                break
        yield output.add(lines, Position(Phase.RECORDS, last))

    async def _relations(self, output: Output, after: _After) -> AsyncGenerator[Chunk]:
        last = after if isinstance(after, UUID) else FIRST
        while sources := await self._reader.sources(last):
            lines: list[Line] = []
            for found, rest in await self._reader.relations(sources):
                lines += found
                async for more in self._reader.lighter(rest):
                    yield output.add(lines, None)
                    lines = [*more]
                if len(lines) >= RELATIONS:
                    yield output.add(lines, None)
                    lines = []
            last = sources[-1]
            yield output.add(lines, Position(Phase.RELATIONS, last))
            if len(sources) < SOURCES:
                break

    async def _tombstones(self, output: Output, after: _After) -> AsyncGenerator[Chunk]:
        last = after if isinstance(after, UUID) else FIRST
        while found := await self._reader.tombstones(last):
            last = found[-1].id
            yield output.add(found, Position(Phase.TOMBSTONES, last))
            if len(found) < TOMBSTONES:
                break


def _write(output: Output, lines: list[Line], reached: Position, written: list[Chunk]) -> None:
    written.append(output.add(lines, reached))
