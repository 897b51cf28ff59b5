"""Secrets in files, as Docker and Kubernetes hand them out."""

from __future__ import annotations

from pathlib import Path


def secret_in(path: Path, variable: str) -> str:
    """Return the text of a file without the line breaks at its end. Raises ValueError, which does not repeat it."""
    try:
        text = path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(
            f"{variable}: {path} cannot be read: {reason}. Name a readable file with the secret"
        ) from error
    if not text:
        raise ValueError(f"{variable}: {path} is empty. Write the secret to it")
    return text
