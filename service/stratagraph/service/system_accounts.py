"""The account that the embedded Postgres runs as where we are root, and its way to the files."""

from __future__ import annotations

import pwd
import stat
import subprocess
from pathlib import Path

from stratagraph.store.model.errors import Misconfigured


def system_user(name: str) -> pwd.struct_passwd:
    """Return the account that the server runs as when we are root; create it if it does not exist."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        made = subprocess.run(
            ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode not in (0, 9):  # 9: another process has just created it
            raise Misconfigured(
                f"PostgreSQL refuses to run as root, and the account {name} for it could not be created:"
                f" {made.stderr.strip()}. Run Stratagraph as an ordinary user."
            ) from None
        return pwd.getpwnam(name)


def allow_traversal(path: Path) -> None:
    """Let other accounts traverse, but not read, the directories above `path`."""
    for directory in path.parents:
        mode = directory.stat().st_mode
        if not mode & stat.S_IXOTH:
            directory.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)
