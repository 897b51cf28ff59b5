"""Secrets in files, as Docker and Kubernetes mount them: a directory with one file for each setting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def secrets_in(directory: Path, prefix: str) -> Iterator[tuple[Path, str]]:
    """Yield the files whose names begin with `prefix`, in any case, with their text, in the order of their names.

    The line breaks at the end of a text are left out. Raises ValueError, which does not repeat the text, if the
    directory or such a file cannot be read, a file is empty, or there is none.
    """
    try:
        every = sorted(directory.iterdir())
    except OSError as error:
        raise ValueError(
            f"{prefix}SECRETS_DIR: {directory} cannot be read: {error.strerror}. Name a readable directory"
        ) from error
    own = [path for path in every if path.name.lower().startswith(prefix.lower())]
    if not own:
        raise ValueError(
            f"{prefix}SECRETS_DIR: {directory} has no file whose name begins with {prefix} or {prefix.lower()}. Name"
            f" each file after its setting, such as {prefix.lower()}database_url"
        )
    for path in own:
        yield path, _text_of(path)


def _text_of(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"{path} cannot be read: {reason}. Write the secret to a file that is readable") from error
    if not text:
        raise ValueError(f"{path} is empty. Write the secret to it")
    return text
