"""Artifacts, as callers use them: bytes kept by their SHA-256, shown to whoever may read a record that names them.

At rest they are sealed wherever the tenant has data keys: each object under a key of its own, which is sealed by the
tenant's and lies in the artifact's row, so that rotating keys rewrites no objects, and dropping the row makes worthless
whatever a disk still holds.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
from collections.abc import AsyncIterable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stratagraph.store.artifacts.artifacts import (
    PURPOSE,
    Artifact,
    SealedKey,
    StoredObject,
    adopt,
    announce,
    collect_garbage,
    fetch_removals,
    fetch_removals_of,
    find_artifacts,
    forget_removals,
    hash_in,
    postpone_removals,
    uri_of,
)
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.keys.sealing.vault import Sealed
from stratagraph.store.keys.tenancy import Caller, Directory, Tenant
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import (
    ArtifactDamaged,
    InvalidInput,
    LimitExceeded,
    RecordNotFound,
    StoreUnavailable,
    StratagraphError,
)
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database, Role

MAX_BYTES = 64 << 20  # of one artifact, where nothing else is set
BATCH = 100  # artifacts looked at, or objects removed, in one transaction
RETRY_AFTER = timedelta(hours=1)  # for an object that could not be removed
_KEY_BYTES, _NONCE_BYTES, _OVERHEAD = 32, 12, 28  # of AES-256-GCM; nonce and tag go with the bytes
_TOKEN = r"[A-Za-z0-9!#$&^_.+-]{1,127}"
_MEDIA_TYPE = re.compile(rf'{_TOKEN}/{_TOKEN}(?:\s*;\s*{_TOKEN}=(?:{_TOKEN}|"[^"\\\x00-\x1f\x7f-\uffff]{{0,127}}"))*\Z')
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    """What an upload left. `is_new` says whether the caller could not see the artifact before."""

    sha256: bytes
    size_bytes: int
    is_new: bool

    @property
    def uri(self) -> str:
        return uri_of(self.sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """An artifact's bytes, which are those of its hash."""

    sha256: bytes
    media_type: str | None
    data: bytes


class Artifacts:
    """Keeps and gives back bytes. One per process; safe to call from many tasks."""

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        blobs: Blobs,
        *,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._blobs = blobs
        self.max_bytes = max_bytes

    async def put(
        self,
        trust: Trust,
        body: AsyncIterable[bytes],
        *,
        media_type: str | None = None,
        expected: bytes | None = None,
    ) -> Uploaded:
        """Keep the bytes of `body`; they are safe when this returns. The same bytes again are kept once.

        The uploader may read them until a record takes them up, from when on the record decides, or for a day. Raises
        LimitExceeded past `max_bytes`, InvalidInput where they are not those of the hash `expected`, Forbidden,
        StoreUnavailable.
        """
        trust.require(Access.WRITE)
        if media_type is not None and (len(media_type) > 255 or not _MEDIA_TYPE.match(media_type)):
            raise InvalidInput(
                "Content-Type: is no media type; write for example text/plain; charset=utf-8", path=["Content-Type"]
            )
        data = await self._read(body)
        digest = await asyncio.to_thread(lambda: hashlib.sha256(data).digest())
        if expected is not None and digest != expected:
            raise InvalidInput(
                f"What arrived is {uri_of(digest)}, not the announced {uri_of(expected)}; send it again.",
                path=["Digest"],
            )
        caller = await self._directory.caller(trust)
        stored = StoredObject(tenant=caller.tenant.id, sha256=digest, id=new_id())
        async with self._database.writing(caller.bounds) as connection:
            await announce(connection, stored, at=self._clock.now())
        key = secrets.token_bytes(_KEY_BYTES) if self._seals else None
        await self._blobs.put(stored.key, data if key is None else await asyncio.to_thread(_seal, key, stored, data))
        async with self._database.writing(caller.bounds) as connection:
            at = self._clock.now()
            seen = await find_artifacts(connection, caller, [digest], at=at)
            sealed = None
            if key is not None:
                sealer = await caller.tenant.keyring.sealer(connection)
                sealed = SealedKey(blob=sealer.seal(stored.id, PURPOSE, key), data_key=sealer.key_id)
            displaced = await adopt(
                connection,
                stored,
                size_bytes=len(data),
                media_type=media_type,
                key=sealed,
                actor=trust.actor,
                at=at,
            )
        if displaced:
            await self._settle(caller, displaced)
        return Uploaded(sha256=digest, size_bytes=len(data), is_new=digest not in seen)

    async def get(self, trust: Trust, uri: str) -> Fetched:
        """The bytes, after seeing that they are those of the hash. Raises RecordNotFound, also for what the caller may
        not see; ArtifactDamaged, and then nothing of the bytes; InvalidInput, StoreUnavailable.
        """
        digest = hash_in(uri)
        if digest is None:
            raise InvalidInput("An artifact is named sha256: and 64 hexadecimal digits.", path=["uri"])
        caller = await self._directory.caller(trust)
        artifact = await self._find(caller, digest)
        raw = await self._blobs.get(artifact.stored.key, limit=artifact.size_bytes + _OVERHEAD)
        if raw is None:  # the same bytes may have been sent again just now, and the object replaced
            artifact = await self._find(caller, digest)
            raw = await self._blobs.get(artifact.stored.key, limit=artifact.size_bytes + _OVERHEAD)
        data = await self._opened(caller.tenant, artifact, raw) if raw is not None else None
        if data is None or await asyncio.to_thread(lambda: hashlib.sha256(data).digest()) != digest:
            _log.error("artifact damaged", tenant=caller.tenant.id, sha256=digest.hex(), missing=raw is None)
            raise ArtifactDamaged
        return Fetched(sha256=digest, media_type=artifact.media_type, data=data)

    async def sweep(self) -> int:
        """One pass over what is due: drop what nobody needs, then remove objects that nothing stands for.

        Returns how many objects went. Any number of servers may do it at once, and each may stop at any instant.
        """
        looked = BATCH
        while looked == BATCH:
            async with self._database.background(Role.ERASE) as connection:
                looked = await collect_garbage(connection, at=self._clock.now(), limit=BATCH)
        gone = 0
        while True:
            async with self._database.background(Role.ERASE) as connection:
                due = await fetch_removals(connection, at=self._clock.now(), limit=BATCH)
                removed = await self._remove(due)
                await forget_removals(connection, removed)
                failed = [stored for stored in due if stored not in removed]
                await postpone_removals(connection, failed, until=self._clock.now() + RETRY_AFTER)
            gone += len(removed)
            if len(due) < BATCH:
                return gone

    async def discard(self, tenant: Tenant, hashes: Collection[bytes]) -> int:
        """Remove at once what `store.artifacts.release` made orphans, after its commit; returns how many objects went.

        May be repeated. What cannot be removed now is still on the list, and `sweep` removes it.
        """
        async with self._database.background(Role.ERASE) as connection:
            due = await fetch_removals_of(connection, tenant, hashes)
            removed = await self._remove(due)
            await forget_removals(connection, removed)
        return len(removed)

    @property
    def _seals(self) -> bool:
        vault = self._directory.vault
        return vault.master is not None and vault.seal_from is not None

    async def _read(self, body: AsyncIterable[bytes]) -> bytes:
        data = bytearray()
        async for chunk in body:
            if len(data) + len(chunk) > self.max_bytes:
                raise LimitExceeded(
                    f"The artifact is over {self.max_bytes} bytes; send it in parts, or raise"
                    " STRATAGRAPH_ARTIFACT_MAX_BYTES.",
                    path=["body"],
                )
            data += chunk
        return bytes(data)

    async def _find(self, caller: Caller, digest: bytes) -> Artifact:
        async with self._database.reading(caller.bounds) as connection:
            found = await find_artifacts(connection, caller, [digest], at=self._clock.now())
        if digest not in found:
            uri = uri_of(digest)
            raise RecordNotFound(uri, f"There is no artifact {uri} that this credential may see.", path=["uri"])
        return found[digest]

    async def _opened(self, tenant: Tenant, artifact: Artifact, raw: bytes) -> bytes | None:
        """The plain bytes; None where they do not open."""
        if artifact.sealed is None:
            return raw
        (key,) = await tenant.keyring.open([Sealed(id=artifact.stored.id, purpose=PURPOSE, blob=artifact.sealed)])
        return await asyncio.to_thread(_open, key, artifact.stored, raw)

    async def _remove(self, objects: Sequence[StoredObject]) -> list[StoredObject]:
        """Those that are gone from the store now."""
        removed, failed = [], 0
        for stored in objects:
            try:
                await self._blobs.remove(stored.key)
                removed.append(stored)
            except StoreUnavailable:
                failed += 1
        if failed:
            _log.warning("artifacts' objects could not be removed", objects=failed)
        return removed

    async def _settle(self, caller: Caller, displaced: Sequence[StoredObject]) -> None:
        """Remove what an upload replaced. Failing that, it stays on the list: the upload itself has succeeded."""
        try:
            removed = await self._remove(displaced)
            async with self._database.writing(caller.bounds) as connection:
                await forget_removals(connection, removed)
        except StratagraphError as error:
            _log.warning("a replaced artifact is left for housekeeping", code=error.code)


def _bound(stored: StoredObject) -> bytes:
    return f"{PURPOSE} {stored.key}".encode()


def _seal(key: bytes, stored: StoredObject, data: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, data, _bound(stored))


def _open(key: bytes, stored: StoredObject, raw: bytes) -> bytes | None:
    try:
        return AESGCM(key).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _bound(stored))
    except (InvalidTag, ValueError):
        return None
