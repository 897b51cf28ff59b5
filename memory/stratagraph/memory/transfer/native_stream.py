"""An export in the native form (docs/export-format.md), made as it is read."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from stratagraph.memory.transfer.chunks import Checkpoint, Chunk, Output, Phase, Position
from stratagraph.store.model.exported import PART_BYTES, ArtifactLine, ArtifactPartLine, HeaderLine, Line
from stratagraph.store.transfer.exporting import FIRST, KEYS, RELATIONS, SOURCES, TOMBSTONES, ExportReader, pages

# The bytes of the artifact with this hash, in hexadecimal; None where they are damaged or removed.
FetchArtifact = Callable[[str], Awaitable[bytes | None]]
_After = UUID | bytes | None  # an id or a hash; None: from the beginning
