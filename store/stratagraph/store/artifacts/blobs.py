"""The object store: files in a directory, or a bucket at S3, Google or Azure, accessed through obstore.

It stores bytes under a key. Hashes, tenants and access are the subject of the other modules of this package.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from stratagraph.store.model.errors import Misconfigured, StoreUnavailable

_SCHEMES = ("file", "s3", "gs", "az")
_STAGED = "#1"  # suffix of a file that the local store is writing; a crash leaves such a file behind


class Blobs:
    """Reads, writes and removes the objects of one object store.

    Every method raises StoreUnavailable if the store cannot be reached or refuses the request.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._files = store.prefix if isinstance(store, LocalStore) else None

    @classmethod
    def open(cls, url: str) -> Blobs:
        """Open the store at a URL: file:///path, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.

        Credentials are read from the usual environment variables of each cloud. Raises Misconfigured for another scheme
        or an incomplete URL or environment.
        """
        scheme = urlsplit(url).scheme
        if scheme not in _SCHEMES:
            raise Misconfigured(
                "STRATAGRAPH_ARTIFACT_URL must begin with file:///, s3://, gs:// or az://, such as s3://bucket/prefix"
            )
        if scheme == "file":
            return cls.below(Path(unquote(urlsplit(url).path)))
        try:
            return cls(from_url(url))
        except (BaseError, ValueError) as error:
            raise Misconfigured(
                "STRATAGRAPH_ARTIFACT_URL cannot be opened; name a bucket, and set its account and credentials in the"
                " environment variables that its cloud's own tools read (AWS_…, GOOGLE_…, AZURE_STORAGE_ACCOUNT_NAME)"
            ) from error

    @classmethod
    def below(cls, directory: Path) -> Blobs:
        """Open a store of files in `directory`, which is created for this user only if it does not exist.

        Raises Misconfigured if the directory cannot be used.
        """
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            return cls(LocalStore(directory))
        except (BaseError, OSError) as error:
            raise Misconfigured(
                f"The artifacts' directory {directory} cannot be used; make it writable for this user, or set"
                " STRATAGRAPH_ARTIFACT_URL"
            ) from error

    async def put(self, key: str, data: bytes) -> None:
        """Write `data` under `key`, atomically, replacing what is there. A local file is on disk when this returns."""
        try:
            await obstore.put_async(self._store, key, data)
            if self._files is not None:
                await asyncio.to_thread(_flush, self._files, key)
        except (BaseError, OSError) as error:
            raise _unavailable() from error

    async def get(self, key: str, *, limit: int) -> bytes | None:
        """Return the bytes under `key`; None if there is no object or it has more than `limit` bytes."""
        try:
            found = await obstore.get_async(self._store, key)
            return bytes(await found.bytes_async()) if found.meta["size"] <= limit else None
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as error:
            raise _unavailable() from error

    async def remove(self, key: str) -> None:
        """Remove the object under `key` and what an interrupted write left. A missing object is not an error."""
        try:
            await obstore.delete_async(self._store, key)
        except FileNotFoundError:
            pass
        except (BaseError, OSError) as error:
            raise _unavailable() from error
        if self._files is not None:
            try:
                (self._files / (key + _STAGED)).unlink(missing_ok=True)
            except OSError as error:
                raise _unavailable() from error


def _flush(root: Path, key: str) -> None:
    """Flush the file, then the directories that contain it, whose entries may be new."""
    path = root / key
    for one in (path, *path.parents):
        handle = os.open(one, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        if one == root:
            return


def _unavailable() -> StoreUnavailable:
    return StoreUnavailable(
        "The object store of artifacts cannot be reached or refuses the request; retry shortly. If it stays so, check"
        " STRATAGRAPH_ARTIFACT_URL and the credentials of its cloud."
    )
