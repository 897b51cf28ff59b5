"""The artifact service: store bytes under their SHA-256 and return them to callers that may read a record naming them.

At rest the bytes are sealed if the service has a master key. Each object has its own key, which the tenant's data key
seals and the artifact's row stores. Rotating keys therefore rewrites no object, and deleting the row makes every
copy of the object unreadable.
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

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.artifacts.object_keys import PURPOSE, SealedKey
from stratagraph.store.artifacts.objects import Artifact, StoredObject, hash_in, uri_of
from stratagraph.store.artifacts.references import find_artifacts
from stratagraph.store.artifacts.removals import (
    collect_garbage,
    delete_removals,
    fetch_removals,
    fetch_removals_of,
    postpone_removals,
)
from stratagraph.store.artifacts.uploads import attach_object, register_object
from stratagraph.store.event_log import get_logger
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.vault import Sealed
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import (
    ArtifactDamaged,
    InvalidInput,
    LimitExceeded,
    RecordNotFound,
    StoreUnavailable,
)
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database, Role

MAX_BYTES = 64 << 20  # bytes of one artifact, by default
BATCH = 100  # artifacts checked, or objects removed, in one transaction
RETRY_AFTER = timedelta(hours=1)  # delay before another attempt to remove an object
_KEY_BYTES, _NONCE_BYTES, _OVERHEAD = 32, 12, 28  # of AES-256-GCM; the nonce and the tag are stored with the bytes
_TOKEN = r"[A-Za-z0-9!#$&^_.+-]{1,127}"
_MEDIA_TYPE = re.compile(rf'{_TOKEN}/{_TOKEN}(?:\s*;\s*{_TOKEN}=(?:{_TOKEN}|"[^"\\\x00-\x1f\x7f-\uffff]{{0,127}}"))*\Z')
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    """The result of an upload. `is_new` is True if the artifact was not visible to the caller before."""

    sha256: bytes
    size_bytes: int
    is_new: bool

    @property
    def uri(self) -> str:
        """The artifact's URI: sha256: followed by 64 hexadecimal digits."""
        return uri_of(self.sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The bytes of an artifact, verified against its hash.

    `media_type` is the one given by the caller's upload or by a record that the caller may read; None if neither gave
    one.
    """

    sha256: bytes
    media_type: str | None
    data: bytes


class Artifacts:
    """The service that stores and returns the bytes of artifacts. One instance per process, safe for concurrent tasks.

    `max_bytes` limits the size of one artifact.
    """

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
        """Store the bytes of `body`, durably before this returns. The same bytes are stored once.

        The uploader may read them for a day, or until one of its records refers to them; from then on access follows
        from the record. `expected` is the SHA-256 hash that the bytes must have. A retry is harmless. Raises
        LimitExceeded if there are more than `max_bytes` bytes, InvalidInput if their hash is not `expected` or the
        media type is malformed, Forbidden without write access, and StoreUnavailable.
        """
        trust.require(Access.WRITE)
        if media_type is not None and (len(media_type) > 255 or not _MEDIA_TYPE.match(media_type)):
            raise InvalidInput(
                f"Content-Type: {shown(media_type)} is not a valid media type; use a form such as text/plain;"
                " charset=utf-8",
                path=["Content-Type"],
            )
        data = await self._read(body)
        digest = await asyncio.to_thread(lambda: hashlib.sha256(data).digest())
        if expected is not None and digest != expected:
            raise InvalidInput(
                f"The received body is {uri_of(digest)}, not the announced {uri_of(expected)}; send it again.",
                path=["Digest"],
            )
        caller = await self._directory.resolve(trust)
        stored = StoredObject(tenant=caller.tenant.id, sha256=digest, id=new_id())
        async with self._database.writing(caller.bounds) as connection:
            await register_object(connection, stored, at=self._clock.now())
        key = secrets.token_bytes(_KEY_BYTES) if self._seals else None
        await self._blobs.put(stored.key, data if key is None else await asyncio.to_thread(_encrypt, key, stored, data))
        async with self._database.writing(caller.bounds) as connection:
            at = self._clock.now()
            seen = await find_artifacts(connection, caller, [digest], at=at)
            sealed = None
            if key is not None:
                sealer = await caller.tenant.keyring.sealer(connection)
                sealed = SealedKey(blob=sealer.seal(stored.id, PURPOSE, key), data_key=sealer.key_id)
            # An object that this one replaces is queued for the job sweep-artifacts. To remove it here would take time,
            # and so tell that somebody else had stored the same bytes.
            await attach_object(
                connection,
                stored,
                size_bytes=len(data),
                media_type=media_type,
                key=sealed,
                actor=trust.identity,
                at=at,
            )
        return Uploaded(sha256=digest, size_bytes=len(data), is_new=digest not in seen)

    async def get(self, trust: Trust, uri: str) -> Fetched:
        """Return the bytes of an artifact after verifying them against the hash in its URI.

        Raises RecordNotFound if the artifact does not exist or is not visible to the caller, ArtifactDamaged if the
        bytes are missing or do not match (none of them is returned), InvalidInput if the URI is malformed, and
        StoreUnavailable.
        """
        digest = hash_in(uri)
        if digest is None:
            raise InvalidInput(
                f"An artifact's URI is sha256: followed by 64 hexadecimal digits, not {shown(uri)}; correct the URI.",
                path=["uri"],
            )
        caller = await self._directory.resolve(trust)
        artifact = await self._find(caller, digest)
        raw = await self._blobs.get(artifact.stored.key, limit=artifact.size_bytes + _OVERHEAD)
        if raw is None:  # a concurrent upload of the same bytes may have replaced the object
            artifact = await self._find(caller, digest)
            raw = await self._blobs.get(artifact.stored.key, limit=artifact.size_bytes + _OVERHEAD)
        data = await self._plain(caller.tenant, artifact, raw) if raw is not None else None
        if data is None or await asyncio.to_thread(lambda: hashlib.sha256(data).digest()) != digest:
            _log.error("artifact damaged", tenant=caller.tenant.id, sha256=digest.hex(), missing=raw is None)
            raise ArtifactDamaged
        return Fetched(sha256=digest, media_type=artifact.media_type, data=data)

    async def remove_unneeded(self) -> int:
        """Delete unreferenced artifacts, then remove their objects from the object store; return how many it removed.

        An artifact is deleted if no record refers to it and it was not uploaded within the last day. An object that
        cannot be removed is tried again after RETRY_AFTER. Any number of servers may run this concurrently, and each
        may stop at any instant: the next call continues.
        """
        checked = BATCH
        while checked == BATCH:
            async with self._database.background(Role.ERASE) as connection:
                checked = await collect_garbage(connection, at=self._clock.now(), limit=BATCH)
        total = 0
        while True:
            async with self._database.background(Role.ERASE) as connection:
                due = await fetch_removals(connection, at=self._clock.now(), limit=BATCH)
                removed = await self._remove(due)
                await delete_removals(connection, removed)
                failed = [stored for stored in due if stored not in removed]
                await postpone_removals(connection, failed, until=self._clock.now() + RETRY_AFTER)
            total += len(removed)
            if len(due) < BATCH:
                return total

    async def remove_released(self, tenant: Tenant, hashes: Collection[bytes]) -> int:
        """Remove the objects of artifacts that `release_artifacts` deleted; return the number of objects removed.

        `hashes` are the SHA-256 hashes of these artifacts; one without a queued object is skipped. Call it after the
        commit; it may be repeated. An object that cannot be removed now stays queued, and `remove_unneeded` removes it
        later.
        """
        async with self._database.background(Role.ERASE) as connection:
            due = await fetch_removals_of(connection, tenant, hashes)
            removed = await self._remove(due)
            await delete_removals(connection, removed)
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
                    f"The artifact is larger than {self.max_bytes} bytes; upload it in parts, or increase"
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
            raise RecordNotFound(
                uri,
                f"There is no artifact {uri} that is visible to this credential; check the hash, or upload the bytes.",
                path=["uri"],
            )
        return found[digest]

    async def _plain(self, tenant: Tenant, artifact: Artifact, raw: bytes) -> bytes | None:
        """Return the plain bytes; None if they cannot be decrypted."""
        if artifact.sealed is None:
            return raw
        (key,) = await tenant.keyring.open([Sealed(id=artifact.stored.id, purpose=PURPOSE, blob=artifact.sealed)])
        return await asyncio.to_thread(_decrypt, key, artifact.stored, raw)

    async def _remove(self, objects: Sequence[StoredObject]) -> list[StoredObject]:
        """Remove objects from the object store; return those that were removed."""
        removed, failed = [], 0
        for stored in objects:
            try:
                await self._blobs.remove(stored.key)
                removed.append(stored)
            except StoreUnavailable:
                failed += 1
        if failed:
            _log.warning("artifact objects not removed", objects=failed)
        return removed


def _associated_data(stored: StoredObject) -> bytes:
    return f"{PURPOSE} {stored.key}".encode()


def _encrypt(key: bytes, stored: StoredObject, data: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, data, _associated_data(stored))


def _decrypt(key: bytes, stored: StoredObject, raw: bytes) -> bytes | None:
    try:
        return AESGCM(key).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _associated_data(stored))
    except (InvalidTag, ValueError):
        return None
