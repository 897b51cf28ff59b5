"""The password of a home's server: a file that only its owner can read, and its hash in the server's data folder.

Without a password, every web page that is open on this machine could read and write the mirror: Bolt answers
WebSockets of any origin.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from pathlib import Path
from typing import Final

USER: Final = "neo4j"  # the one user that a new store has
_ITERATIONS: Final = 1024  # as Neo4j hashes passwords itself


def password_file(home: Path) -> Path:
    """Return the path of the file with the password."""
    return home / "password"


def credentials(home: Path) -> tuple[str, str] | None:
    """Return the user name and the password; None for a home that an earlier version started without a password."""
    try:
        password = password_file(home).read_text(encoding="utf-8", errors="replace").rstrip("\r\n")
    except FileNotFoundError:
        return None
    return (USER, password) if password else None


def ensure_credentials(home: Path) -> tuple[str, str]:
    """Return the user name and the password, which is generated if there is none.

    Only the user who runs this can read the file and its directory afterwards.
    """
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    file = password_file(home)
    if found := credentials(home):
        file.chmod(0o600)
        return found
    password = secrets.token_urlsafe(32)
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as written:
        written.write(f"{password}\n")
    part.replace(file)
    return USER, password


def admit_only(data: Path, user: str, password: str) -> None:
    """Let the store in the folder `data` of a stopped server admit `user` with `password`, and no other user.

    A server reads dbms/auth.ini when it creates its `system` database, which holds the users and not the mirror. So a
    store that was created with another password, or without one, gets a new `system` database at its next start.
    """
    file = data / "dbms" / "auth.ini"
    wanted = _auth_line(user, password)
    if file.exists() and file.read_bytes() == wanted.encode():
        return
    for folder in (data / "databases" / "system", data / "transactions" / "system"):
        if folder.exists():
            shutil.rmtree(folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(wanted, encoding="utf-8")  # last, so that an interruption before it begins anew


def _auth_line(user: str, password: str) -> str:
    """Return the line of Neo4j's auth.ini for a password. It is the same at each start, to be compared."""
    secret = password.encode()
    salt = hashlib.sha256(b"salt" + secret).digest()
    digest = hashlib.sha256(salt + secret).digest()
    for _ in range(_ITERATIONS - 1):
        digest = hashlib.sha256(digest).digest()
    return f"{user}:SHA-256,{digest.hex().upper()},{salt.hex().upper()},{_ITERATIONS}:\n"
