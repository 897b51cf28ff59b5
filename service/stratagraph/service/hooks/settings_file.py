"""Reading a settings file of an agent, and writing it anew in one step."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from stratagraph.store.model.errors import InvalidInput

MOST_BYTES = 4 << 20


def read_settings(path: Path) -> str | None:
    """Return the text of a settings file; None where there is none. Raises InvalidInput."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"{path}: has {len(data)} bytes, at most {MOST_BYTES} are read")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is no text in UTF-8 from byte {error.start} on; correct it first") from error


def write_settings(path: Path, text: str | None, *, expected: str | None) -> None:
    """Put a text in the place of a settings file, at once and with its rights; None deletes the file.

    A symbolic link stays, and the file that it names is written. Raises InvalidInput, also where the file is no longer
    `expected`; the file is then as it was.
    """
    target = Path(os.path.realpath(path))
    if read_settings(target) != expected:
        raise InvalidInput(f"{path}: another program has changed it meanwhile; run the command again")
    try:
        if text is None:
            target.unlink()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        descriptor, made = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            Path(made).chmod(mode)
            Path(made).replace(target)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(made).unlink()
            raise
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror}; check its rights") from error
