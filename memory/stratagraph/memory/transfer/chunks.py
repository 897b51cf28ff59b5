"""Chunks of an export, and the checkpoints between them, from which it can be continued in the same snapshot."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any
from uuid import UUID

from stratagraph.store.model.exported import EndLine, Line, line_bytes


class Phase(IntEnum):
    """What comes next in an export."""

    HEADER = 0
    ARTIFACTS = 1
    RECORDS = 2
    RELATIONS = 3
    TOMBSTONES = 4


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two lines of an export: what comes next, after this hash or id; None: from its beginning."""

    phase: Phase = Phase.HEADER
    after: UUID | bytes | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A place at which an export can be continued, and what was written before it.

    `offset` is the number of bytes, `counts` that of lines by kind, and `digest` has the hash of the bytes.
    """

    position: Position
    offset: int
    counts: Mapping[str, int]
    digest: Any  # a hash object of hashlib, which names no type for it


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next bytes of an export, which end with a line. `records` is the number of records in them.

    The export can be continued after the chunk if it has a checkpoint.
    """

    data: bytes
    records: int
    checkpoint: Checkpoint | None


class Output:
    """What has been written of an export in the native form."""

    def __init__(self, start: Checkpoint | None) -> None:
        self._offset = start.offset if start is not None else 0
        self._counts = Counter(start.counts if start is not None else {})
        self._digest = start.digest.copy() if start is not None else hashlib.sha256()

    def add(self, lines: Sequence[Line], then: Position | None) -> Chunk:
        """Return the chunk of these lines, after which the export can be continued at `then`, if that is given."""
        data = b"".join([line_bytes(line) for line in lines])
        kinds = Counter(line.kind for line in lines)
        self._counts += kinds
        self._digest.update(data)
        self._offset += len(data)
        checkpoint = None
        if then is not None:
            checkpoint = Checkpoint(then, self._offset, dict(self._counts), self._digest.copy())
        return Chunk(data, kinds["record"], checkpoint)

    def end(self) -> Chunk:
        """Return the chunk with the last line."""
        return Chunk(line_bytes(EndLine(counts=dict(self._counts), sha256=self._digest.hexdigest())), 0, None)
