"""Where large bytes lie: files below a directory, or a bucket at S3, Google or Azure, all through obstore.

It keeps bytes under a key and knows nothing of hashes, tenants or who may read; `artifacts.py` keeps account of that.
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
_STAGED = "#1"  # what the local store appends while it writes; a crash leaves it behind


class Blobs:
    """Bytes by key in one object store. Raises StoreUnavailable when that cannot be reached or refuses."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._files = store.prefix if isinstance(store, LocalStore) else None

    @classmethod
    def open(cls, url: str) -> Blobs:
        """The store that a URL names: file:///path, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.

        Credentials of the clouds come from their usual environment variables. Raises Misconfigured.
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
        """Files below a directory that only this user can enter; made if it is not there. Raises Misconfigured."""
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            return cls(LocalStore(directory))
        except (BaseError, OSError) as error:
            raise Misconfigured(
                f"The artifacts' directory {directory} cannot be used; make it writable for this user, or set"
                " STRATAGRAPH_ARTIFACT_URL"
            ) from error

    async def put(self, key: str, data: bytes) -> None:
        """Keep `data`, whole or not at all, and on disk before this returns."""
        try:
            await obstore.put_async(self._store, key, data)
            if self._files is not None:
                await asyncio.to_thread(_flush, self._files, key)
        except (BaseError, OSError) as error:
            raise _unavailable() from error

    async def get(self, key: str, *, limit: int) -> bytes | None:
        """The bytes, or None where there are none or they are more than `limit`."""
        try:
            found = await obstore.get_async(self._store, key)
            return bytes(await found.bytes_async()) if found.meta["size"] <= limit else None
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as error:
            raise _unavailable() from error

    async def remove(self, key: str) -> None:
        """Leave nothing under `key`, also where a writer was cut off; removing what is gone is no error."""
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
    """The file's bytes, then its name and those of the directories that were made for it."""
    path = root / key
    for place in (path, *path.parents):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        if place == root:
            return


def _unavailable() -> StoreUnavailable:
    return StoreUnavailable("The artifacts' store cannot be reached or refuses to work; try again shortly.")
