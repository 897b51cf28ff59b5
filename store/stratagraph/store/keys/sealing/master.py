"""The master key, which wraps every other key and never lies in the database: given as a value, a file, or a hook.

A hook is `module:factory`: the factory is called without arguments and returns an object of the protocol `MasterKey`,
whose `wrap` and `unwrap` may call a key management service. See docs/encryption.md.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import importlib
import os
import secrets
import tempfile
from pathlib import Path
from typing import Protocol, runtime_checkable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stratagraph.store.model.errors import Misconfigured, StoreUnavailable, StratagraphError

KEY_BYTES = 32
_NONCE_BYTES = 12
_BOUND = b"stratagraph wrapped key 1"


@runtime_checkable
class MasterKey(Protocol):
    """What wraps keys. `name` tells which one it is without telling the key; it is stored beside what it wraps."""

    @property
    def name(self) -> str: ...

    async def wrap(self, key: bytes) -> bytes: ...

    async def unwrap(self, wrapped: bytes) -> bytes: ...


class LocalMasterKey:
    """A master key in this process's memory."""

    def __init__(self, key: bytes) -> None:
        self._key = AESGCM(key)
        self._name = f"local:{hmac.digest(key, b'stratagraph master key name', 'sha256').hex()[:16]}"

    @property
    def name(self) -> str:
        return self._name

    async def wrap(self, key: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._key.encrypt(nonce, key, _BOUND)

    async def unwrap(self, wrapped: bytes) -> bytes:
        """Raises Misconfigured where another master key wrapped it."""
        try:
            return self._key.decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], _BOUND)
        except (InvalidTag, ValueError) as error:
            raise Misconfigured(
                f"The master key {self._name} does not open a key of this database; give the one that wrapped it."
            ) from error


class HookedMasterKey:
    """A master key behind a hook; whatever its calls raise becomes an error of ours."""

    def __init__(self, hook: MasterKey) -> None:
        self._hook = hook

    @property
    def name(self) -> str:
        return self._hook.name

    async def wrap(self, key: bytes) -> bytes:
        try:
            return await self._hook.wrap(key)
        except StratagraphError:
            raise
        except Exception as error:
            raise self._failed("wrap", error) from error

    async def unwrap(self, wrapped: bytes) -> bytes:
        try:
            key = await self._hook.unwrap(wrapped)
        except StratagraphError:
            raise
        except Exception as error:
            raise self._failed("unwrap", error) from error
        if len(key) != KEY_BYTES:
            raise Misconfigured(f"The master key hook {self.name} returned a key of {len(key)} bytes, not {KEY_BYTES}.")
        return key

    def _failed(self, what: str, error: Exception) -> StoreUnavailable:
        return StoreUnavailable(f"The master key hook {self.name} could not {what} a key ({type(error).__name__}).")


def generate() -> str:
    """A new master key as text, for STRATAGRAPH_MASTER_KEY or a file."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def from_text(text: str, *, where: str) -> LocalMasterKey:
    """Raises Misconfigured, naming `where` it came from and not what it says."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise Misconfigured(f"{where} must be base64 of {KEY_BYTES} bytes; `stratagraph keys generate` makes one.")
    return LocalMasterKey(key)


def from_file(path: Path, *, where: str) -> LocalMasterKey:
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Misconfigured(f"{where}: {path} cannot be read: {reason}") from error
    return from_text(text, where=f"{where} ({path})")


def from_hook(hook: str, *, where: str) -> HookedMasterKey:
    module, _, factory = hook.partition(":")
    try:
        made = getattr(importlib.import_module(module), factory)()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise Misconfigured(
            f"{where}: {hook} is no module:factory that can be called ({type(error).__name__})."
        ) from error
    if not isinstance(made, MasterKey):
        raise Misconfigured(f"{where}: what {hook} returns lacks name, wrap or unwrap.")
    return HookedMasterKey(made)


def make_file(path: Path) -> None:
    """A new master key in a file that only its owner may read. One that is there already stays as it is."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{generate()}\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(name, path)  # whole or not at all, and only one of two processes wins
    except FileExistsError:
        pass
    finally:
        Path(name).unlink()
