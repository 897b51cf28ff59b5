"""A copy of the master key, in a file apart from the backup."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from stratagraph.service.master_key import MASTER_KEY_FILE
from stratagraph.service.settings import Settings
from stratagraph.store.keys.sealing.master import from_text
from stratagraph.store.model.errors import InvalidInput, Misconfigured


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCopy:
    """The master key, to be written to `path`. `name` is what the database knows it by."""

    path: Path
    name: str
    _text: str = field(repr=False)

    @classmethod
    def prepare(cls, settings: Settings, path: Path, backup: Path) -> KeyCopy:
        """Read the service's master key, and check that it can be written to `path`.

        Raises InvalidInput if `path` lies in the backup or has another content, or the key is one that only a key
        management service knows; Misconfigured if there is no master key.
        """
        if backup.resolve() in (path.resolve(), *path.resolve().parents):
            raise InvalidInput(
                f"--key-to: {path} lies in the backup, which whoever gets it could then read. Choose a place elsewhere",
                path=["--key-to"],
            )
        text = _text_of(settings)
        if path.exists() and path.read_text(errors="replace").strip() != text:
            raise InvalidInput(
                f"--key-to: {path} exists already and holds something else. Choose another file",
                path=["--key-to"],
            )
        return cls(path=path, name=from_text(text, where="The master key").name, _text=text)

    def write(self) -> None:
        """Write the key to its file, readable by its owner only. A file that holds it already is left as it is."""
        if self.path.exists():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{self._text}\n")
            file.flush()
            os.fsync(file.fileno())


def _text_of(settings: Settings) -> str:
    if settings.master_key_hook is not None:
        raise InvalidInput(
            "--key-to: the master key is in the key management service that STRATAGRAPH_MASTER_KEY_HOOK names, and"
            " cannot be copied. Leave --key-to out",
            path=["--key-to"],
        )
    if settings.master_key is not None:
        return settings.master_key.get_secret_value().strip()
    path = settings.data_dir / MASTER_KEY_FILE
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"--key-to: there is no master key to copy: {path} cannot be read") from error
