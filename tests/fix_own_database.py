"""A database of the operator's own, as docs/operations.md says: prepared by an administrator, with three logins.

`foreign_postgres_url` is a PostgreSQL that is not the embedded one: initdb's settings, another locale, another
superuser, TCP and passwords. Each login of its databases has a password.
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
import pytest
from fix_faults import free_port
from fix_memory import with_database

from stratagraph.service.embedded_postgres import allow_traversal, postgres_binaries

ROOT = Path(__file__).resolve().parents[1]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
ADMINISTRATOR = "dba"
PASSWORD = "pass word/of:tests"  # with characters that a URL must escape
_ACCOUNT = "nobody"  # PostgreSQL refuses to run as root


def section(title: str) -> str:
    """Return the text of a third-level section of docs/operations.md."""
    found = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^##+ |\Z)", OPERATIONS, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@dataclass(frozen=True)
class OwnDatabase:
    """A database prepared as the page tells: the URLs of the administrator and of the three logins."""

    administrator: str
    owner: str
    api: str
    worker: str


@contextmanager
def prepared(administrator_url: str, *, password: str | None = None) -> Iterator[OwnDatabase]:
    """Run the page's SQL under a name that no other test uses. Drops what was made with it at the end of the block."""
    name = f"operations_{secrets.token_hex(4)}"
    (statements,) = blocks(section("A database of your own"), "sql")
    subprocess.run(
        [str(postgres_binaries() / "psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", administrator_url],
        input=statements.replace("memory", name).encode(),
        check=True,
    )
    logins = [f"{name}_{part}" for part in ("owner", "api", "worker")]
    administrator = with_database(administrator_url, name)
    try:
        if password is not None:
            with psycopg.connect(administrator_url, autocommit=True) as connection:
                for login in logins:
                    connection.execute(f"ALTER ROLE {login} PASSWORD '{password}'")
        yield OwnDatabase(administrator, *(_with_login(administrator, login, password) for login in logins))
    finally:
        with psycopg.connect(administrator_url, autocommit=True) as connection:
            databases = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
            for (database,) in connection.execute(databases, (name,)).fetchall():
                connection.execute(f"DROP DATABASE {database} WITH (FORCE)")
            # The owner last: it granted the other roles.
            roles = connection.execute(
                "SELECT rolname FROM pg_roles WHERE starts_with(rolname, %s) ORDER BY rolcreaterole, NOT rolcanlogin",
                (name,),
            )
            for (role,) in roles.fetchall():
                connection.execute(f"DROP ROLE {role}")


def _with_login(url: str, login: str, password: str | None) -> str:
    parts = urlsplit(url)
    server = parts.netloc.rpartition("@")[2]
    secret = f":{quote(password, safe='')}" if password is not None else ""
    return urlunsplit(parts._replace(netloc=f"{login}{secret}@{server}"))


@pytest.fixture(scope="session")
def foreign_postgres_url() -> Iterator[str]:
    """The administrator's URL of a PostgreSQL that is not the embedded one, for this test session."""
    directory = Path(tempfile.mkdtemp(prefix="foreign-postgres-"))
    binaries = postgres_binaries()
    account = pwd.getpwnam(_ACCOUNT) if os.geteuid() == 0 else None
    if account is not None:
        for path in (directory / "data", binaries / "postgres"):
            allow_traversal(path)
        os.chown(directory, account.pw_uid, account.pw_gid)

    def run(program: str, *arguments: str) -> None:
        with tempfile.TemporaryFile() as out:  # no pipe: the server inherits it, and it would never reach its end
            done = subprocess.run(
                [str(binaries / program), "-D", str(directory / "data"), *arguments],
                stdout=out,
                stderr=out,
                cwd="/",
                check=False,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
            out.seek(0)
            assert done.returncode == 0, out.read().decode()

    password, port = directory / "password", free_port()
    password.write_text(PASSWORD)
    password.chmod(0o644)
    try:
        locale = ("--encoding=UTF8", "--locale=C.UTF-8")
        run("initdb", "-U", ADMINISTRATOR, f"--pwfile={password}", "--auth=scram-sha-256", "--no-sync", *locale)
        options = f"-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        run("pg_ctl", "start", "-w", "-l", str(directory / "log"), "-o", options)
        try:
            yield f"postgresql://{ADMINISTRATOR}:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "stop", "-w", "-m", "immediate")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def own_database(foreign_postgres_url: str) -> Iterator[OwnDatabase]:
    """A database on the foreign server, prepared and empty."""
    with prepared(foreign_postgres_url, password=PASSWORD) as own:
        yield own
