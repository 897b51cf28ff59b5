"""The master key, which wraps all other keys and is never stored in the database. It is a value, a file or a hook.

A hook is `module:factory`. The factory is called without arguments and returns a `MasterKey`, whose `wrap` and `unwrap`
may call a key management service. See docs/security.md.
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

from stratagraph.store.model.canonical import KEY_BYTES
from stratagraph.store.model.errors import Misconfigured, StoreUnavailable, StratagraphError

_NONCE_BYTES = 12
_ASSOCIATED_DATA = b"stratagraph wrapped key 1"  # authenticated with each wrapped key


@runtime_checkable
class MasterKey(Protocol):
    """A key that wraps other keys, as a hook's factory must return it.

    `name` identifies the key without revealing it and is stored with each key that it wraps. `wrap` returns a key
    encrypted, `unwrap` returns what `wrap` was given.
    """

    @property
    def name(self) -> str: ...

    async def wrap(self, key: bytes) -> bytes: ...

    async def unwrap(self, wrapped: bytes) -> bytes: ...


class LocalMasterKey:
    """A master key given as a value or a file, and kept in the memory of this process."""

    def __init__(self, key: bytes) -> None:
        self._key = AESGCM(key)
        self._name = f"local:{hmac.digest(key, b'stratagraph master key name', 'sha256').hex()[:16]}"

    @property
    def name(self) -> str:
        return self._name

    async def wrap(self, key: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._key.encrypt(nonce, key, _ASSOCIATED_DATA)

    async def unwrap(self, wrapped: bytes) -> bytes:
        """Return the unwrapped key. Raises Misconfigured if another master key wrapped it."""
        try:
            return self._key.decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], _ASSOCIATED_DATA)
        except (InvalidTag, ValueError) as error:
            raise Misconfigured(
                f"The master key {self._name} cannot unwrap a key of this database; give the one that wrapped it."
            ) from error


class HookedMasterKey:
    """A master key that a hook supplies; this class calls it and translates its errors.

    A StratagraphError of the hook is raised unchanged; any other exception becomes StoreUnavailable, without its
    message. An unwrapped key of the wrong length raises Misconfigured.
    """

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
            raise Misconfigured(
                f"The master key hook {self.name} returned a key of {len(key)} bytes, not {KEY_BYTES}. Correct the"
                " hook."
            )
        return key

    def _failed(self, action: str, error: Exception) -> StoreUnavailable:
        return StoreUnavailable(
            f"The master key hook {self.name} could not {action} a key ({type(error).__name__}). Check that its key"
            " service can be reached, and retry."
        )


def generate() -> str:
    """Return a new random master key in base64, for STRATAGRAPH_MASTER_KEY or a file."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def from_text(text: str, *, where: str) -> LocalMasterKey:
    """Return the master key that `text` spells in base64.

    Raises Misconfigured for any other text. `where` is where the text comes from, such as the name of a setting; the
    message names that and does not repeat the text.
    """
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise Misconfigured(
            f"{where} must be base64 of {KEY_BYTES} bytes: the key that this database was made with, such as the copy"
            " of `backup --key-to`, or for a new database one of `stratagraph keys generate`."
        )
    return LocalMasterKey(key)


def from_file(path: Path, *, where: str) -> LocalMasterKey:
    """Return the master key in a file, in base64. Raises Misconfigured if the file cannot be read or has another text.

    `where` is where the path comes from, such as the name of a setting, for the message.
    """
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Misconfigured(f"{where}: {path} cannot be read: {reason}. Name a readable file with a key") from error
    return from_text(text, where=f"{where} ({path})")


def from_hook(hook: str, *, where: str) -> HookedMasterKey:
    """Import the factory that `hook` names as `module:factory`, call it, and return the master key that it makes.

    Raises Misconfigured if there is no such factory, it raises ValueError or TypeError, or it does not return a
    `MasterKey`. `where` is where `hook` comes from, such as the name of a setting, for the message.
    """
    module, _, factory = hook.partition(":")
    try:
        made = getattr(importlib.import_module(module), factory)()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise Misconfigured(
            f"{where}: {hook} is not a module:factory that can be called ({type(error).__name__}). Write one such as"
            " my_kms:master_key, with the module on PYTHONPATH."
        ) from error
    if not isinstance(made, MasterKey):
        raise Misconfigured(
            f"{where}: the object that {hook} returns lacks name, wrap or unwrap; it must have all three."
        )
    return HookedMasterKey(made)


def make_file(path: Path) -> None:
    """Write a new master key to a file with mode 0600. An existing file is left unchanged, which is not an error."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # creates the file with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{generate()}\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(name, path)  # atomic: the file appears complete, and only one of two processes creates it
    except FileExistsError:
        pass
    finally:
        Path(name).unlink()
