"""The export service: what a caller may read in full, in one snapshot, as a stream of lines.

The stream is made as it is read: it holds a page at a time, and one artifact. A transaction is open for as long as the
export is, so whoever reads it is to be bound in time.
"""

from __future__ import annotations

import base64
import secrets
import struct
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.transfer.appendix_stream import WholeRecords, appendix_chunks
from stratagraph.memory.transfer.chunks import Checkpoint, Chunk
from stratagraph.memory.transfer.native_stream import NativeStream
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access, MemoryType
from stratagraph.store.model.errors import ArtifactDamaged, RecordNotFound, SnapshotGone
from stratagraph.store.model.exported import HeaderLine
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.transfer.exporting import ExportReader, hold_snapshot

_NONCE_BYTES = 12
_BEGAN = struct.Struct(">d")  # when the snapshot was taken, in seconds since 1970


class ExportForm(StrEnum):
    """How an export writes records."""

    NATIVE = "native"  # docs/export-format.md: everything, for another Stratagraph
    RFC = "rfc"  # one record a line in the form of the RFC's appendix, for other programs


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """What to export. `scopes` and `types` narrow it; None: all that the caller may read.

    `artifacts` is whether the contents of artifacts are exported too, in the native form.
    """

    form: ExportForm = ExportForm.NATIVE
    scopes: frozenset[str] | None = None
    types: frozenset[MemoryType] | None = None
    artifacts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A snapshot that is held: its name, and when it was taken."""

    snapshot: str
    began: datetime


class Export:
    """One export, which is open in a transaction.

    `left_out` has the ids of records that could not be exported in its form, because their content is malformed.
    """

    def __init__(
        self,
        connection: Connection,
        directory: Directory,
        caller: Caller,
        request: ExportRequest,
        clock: Clock,
        artifacts: Artifacts,
        began: datetime,
    ) -> None:
        self._began = began
        self._connection = connection
        self._directory = directory
        self._caller = caller
        self._request = request
        self._clock = clock
        self._artifacts = artifacts
        self._reader = ExportReader(connection, directory, caller, request.types)
        self.left_out: list[UUID] = []

    async def hold(self, idle: timedelta) -> str:
        """Let the transaction wait for its client for `idle`, and return a token that names its snapshot.

        With the token, the same caller may open the same export again for as long as this one is open.
        """
        snapshot = await hold_snapshot(self._connection, idle)
        return _seal(self._caller, self._request, _Held(snapshot=snapshot, began=self._began))

    @property
    def age_s(self) -> float:
        """Seconds since its snapshot was taken, by this process or another."""
        return (self._clock.now() - self._began).total_seconds()

    def chunks(self, start: Checkpoint | None = None) -> AsyncGenerator[Chunk]:
        """Return the chunks of the export from a checkpoint on; None: from its beginning."""
        if self._request.form is ExportForm.RFC:
            return appendix_chunks(self.whole_records())
        fetch = self._artifact if self._request.artifacts else None
        return NativeStream(self._reader, _header(self._request), fetch).chunks(start)

    def whole_records(self) -> WholeRecords:
        """Return the reader of the records with all that belongs to them."""
        return WholeRecords(
            self._connection,
            self._directory,
            self._caller,
            self._reader,
            now=self._clock.now(),
            left_out=self.left_out,
        )

    async def _artifact(self, sha256: str) -> bytes | None:
        try:
            return (await self._artifacts.get(self._caller.trust, f"sha256:{sha256}")).data
        except (ArtifactDamaged, RecordNotFound):
            return None  # damaged, or removed since the snapshot was taken


class Exports:
    """The service that exports records. One instance per process, safe for concurrent tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock, artifacts: Artifacts) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._artifacts = artifacts

    @asynccontextmanager
    async def open(self, trust: Trust, request: ExportRequest, *, token: str | None = None) -> AsyncIterator[Export]:
        """Open an export of what a caller may read in full, in one snapshot, for the block.

        `token` is that of an export that is open: then its snapshot is read again. Raises Forbidden for a scope that
        the trust does not cover, RecordNotFound for a tenant that does not exist, SnapshotGone if the snapshot is not
        held any more or the token is of another request, and StoreUnavailable.
        """
        caller = await self._caller(trust, request)
        held = None if token is None else _open(caller, request, token)
        snapshot, began = (None, self._clock.now()) if held is None else (held.snapshot, held.began)
        async with self._database.exporting(caller.bounds, snapshot=snapshot) as connection:
            yield Export(connection, self._directory, caller, request, self._clock, self._artifacts, began)

    async def check(self, trust: Trust, request: ExportRequest, token: str) -> None:
        """Raise SnapshotGone unless the token is of an export that this caller may read in the same way now."""
        _open(await self._caller(trust, request), request, token)

    async def _caller(self, trust: Trust, request: ExportRequest) -> Caller:
        trust.require(Access.READ)
        if request.scopes is not None:
            trust = trust.narrowed(scopes=request.scopes)
        return await self._directory.resolve(trust)


def _seal(caller: Caller, request: ExportRequest, held: _Held) -> str:
    """Return the token of a snapshot, which tells nothing: names of snapshots count the writes of all tenants."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    plain = _BEGAN.pack(held.began.timestamp()) + held.snapshot.encode()
    sealed = nonce + _cipher(caller).encrypt(nonce, plain, _bound_to(caller, request))
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


def _open(caller: Caller, request: ExportRequest, token: str) -> _Held:
    """Return what is in a token. Raises SnapshotGone for one of another caller or request, and for other texts."""
    try:
        sealed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        plain = _cipher(caller).decrypt(nonce, rest, _bound_to(caller, request))
    except (ValueError, InvalidTag):
        raise SnapshotGone from None
    (began,) = _BEGAN.unpack_from(plain)
    return _Held(snapshot=plain[_BEGAN.size :].decode(), began=datetime.fromtimestamp(began, UTC))


def _cipher(caller: Caller) -> AESGCM:
    return AESGCM(keyed_hash(caller.tenant.index_key, "export", b""))


def _bound_to(caller: Caller, request: ExportRequest) -> bytes:
    """Return what says whose an export is, and of which request: other ones give other lines."""
    of = (
        caller.trust.identity,
        caller.trust.access.label,
        caller.ceiling.label,
        "*" if caller.scopes is None else sorted(caller.scopes),
        request.form.value,
        "*" if request.types is None else sorted(request.types),
        request.artifacts,
    )
    return repr(of).encode()


def _header(request: ExportRequest) -> HeaderLine:
    return HeaderLine(
        artifacts=request.artifacts,
        scopes=None if request.scopes is None else tuple(sorted(request.scopes)),
        types=None if request.types is None else tuple(sorted(request.types)),
    )
