"""The manifest of a backup, and the hashes of its files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from stratagraph.store.model.errors import InvalidInput

FORMAT = 1
MANIFEST, SUMS, ROLES, DUMP, ARTIFACTS = "manifest.json", "SHA256SUMS", "roles.sql", "database.dump", "artifacts"
CHUNK_BYTES = 1 << 20
_OBJECT = rf"{ARTIFACTS}/[0-9]+/[0-9a-f]{{2}}/[0-9a-f]{{64}}\.[0-9a-f]{{32}}"
_SUM = re.compile(rf"([0-9a-f]{{64}})  ({re.escape(ROLES)}|{re.escape(DUMP)}|{_OBJECT})\Z")


class Manifest(BaseModel):
    """What a backup contains and what it takes to restore it.

    `postgres` is PostgreSQL's version number, such as 180006. `master_keys` has one key of the database, wrapped, in
    base64, for each master key that wraps any, keyed by the master key's name: it shows whether a master key is the
    right one. `missing_artifacts` are the keys of objects that were already missing in the object store.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    made_at: datetime
    stratagraph: str
    postgres: int
    schema_revision: str
    sums_sha256: str
    total_bytes: int
    artifacts: int
    missing_artifacts: tuple[str, ...]
    master_keys: dict[str, str]
    rows: dict[str, int]

    def write(self, backup: Path) -> None:
        """Write the manifest to the directory of its backup."""
        (backup / MANIFEST).write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_manifest(backup: Path) -> Manifest:
    """Read the manifest of a backup. Raises InvalidInput if it is missing, malformed, or of a newer format."""
    try:
        text = (backup / MANIFEST).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{backup} is not a backup: it has no readable {MANIFEST}. Name the directory that `stratagraph backup`"
            " made.",
            path=["BACKUP"],
        ) from error
    made = re.search(r'"format":\s*(\d{1,9})', text)
    if made is not None and int(made[1]) > FORMAT:
        raise InvalidInput(
            f"{backup} has format {made[1]}, and this version of Stratagraph reads up to {FORMAT}. Restore it with the"
            " version that made it, or a newer one.",
            path=["BACKUP"],
        )
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise damaged(backup, MANIFEST) from error


def hash_of(path: Path, advance: Callable[[int], object] = lambda _: None) -> str:
    """Return the SHA-256 of a file in hexadecimal digits. `advance` is called with the bytes of each chunk read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            advance(len(chunk))
    return digest.hexdigest()


def write_sums(backup: Path, sums: dict[str, str]) -> str:
    """Write the hashes of a backup's files, keyed by their relative paths; return the hash of what was written."""
    path = backup / SUMS
    path.write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())), encoding="ascii")
    return hash_of(path)


def read_sums(backup: Path, manifest: Manifest) -> dict[str, str]:
    """Return the hashes of a backup's files, keyed by their relative paths.

    Raises InvalidInput if the list was changed, or names a file that no backup contains.
    """
    try:
        if hash_of(backup / SUMS) != manifest.sums_sha256:
            raise damaged(backup, SUMS)
        lines = (backup / SUMS).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(backup, SUMS) from error
    found = [_SUM.match(line) for line in lines]
    sums = {match[2]: match[1] for match in found if match is not None}
    if len(sums) != len(lines) or not {ROLES, DUMP} <= sums.keys():
        raise damaged(backup, SUMS)
    return sums


def damaged(backup: Path, name: str) -> InvalidInput:
    """Return the error for a file of a backup that is missing or was changed."""
    return InvalidInput(
        f"{backup / name} is missing or was changed since the backup was made. Nothing was restored; take another"
        " backup, or copy this one again.",
        path=["BACKUP"],
    )
