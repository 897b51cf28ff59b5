"""The roles of one database: what they are called, how they are made, and which login may act as which.

Roles belong to the whole server, so their names begin with the database's, as it was called when it was migrated;
`role_prefix()` in the database tells it, also in a copy of that database.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence, Set

from sqlalchemy import Connection, text
from sqlalchemy.exc import ProgrammingError

from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.postgres.database import Role

API_ROLES = (Role.READ, Role.WRITE)
WORKER_ROLES = tuple(role for role in Role if role not in API_ROLES)
PREFIX_MAX = 40  # bytes; PostgreSQL cuts names at 63


def prefix_of(database: str) -> str:
    """What the names of a database's roles begin with; plain letters, and short enough for PostgreSQL.

    >>> prefix_of("memories")
    'memories_'
    >>> prefix_of("memories of Köln")
    'memories_of_K_ln_85932aec_'
    """
    plain = re.sub(r"[^A-Za-z0-9_]", "_", database)
    if plain == database and len(plain) <= PREFIX_MAX:
        return f"{plain}_"
    return f"{plain[:PREFIX_MAX]}_{hashlib.sha256(database.encode()).hexdigest()[:8]}_"


def make_roles(connection: Connection, roles: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Make what is missing of this database's roles; returns their prefix and their names, quoted.

    Raises Misconfigured where the login may not make roles, or where somebody else's have these names.
    """
    prefix = _prefix(connection)
    names = {role: f"{prefix}{role}" for role in roles}
    found = connection.execute(
        text(
            "SELECT rolname, rolcanlogin OR rolsuper OR rolbypassrls OR rolcreaterole OR rolreplication AS foreign_role"
            " FROM pg_roles WHERE rolname = ANY(:names)"
        ),
        {"names": list(names.values())},
    ).all()
    taken = sorted(row.rolname for row in found if row.foreign_role)
    if taken:
        raise Misconfigured(
            f"The roles {', '.join(taken)} are not Stratagraph's but have the names it needs; rename them."
        )
    quoted = {role: _quoted(connection, name) for role, name in names.items()}
    known = {row.rolname for row in found}
    may = connection.execute(
        text("SELECT rolsuper, rolcreaterole, rolname FROM pg_roles WHERE rolname = current_user")
    ).one()
    if len(known) < len(names) and not (may.rolsuper or may.rolcreaterole):
        raise Misconfigured(
            "The login that migrates the database may not make roles: let an administrator run"
            f" ALTER ROLE {_quoted(connection, may.rolname)} CREATEROLE, or set STRATAGRAPH_OWNER_DATABASE_URL."
        )
    for role, name in names.items():
        if name not in known:
            connection.execute(text(f"CREATE ROLE {quoted[role]} NOLOGIN NOINHERIT"))
        if not may.rolsuper:  # a superuser hands things over to anyone; others only to whom they may act as
            connection.execute(text(f"GRANT {quoted[role]} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE"))
    return prefix, quoted


def _prefix(connection: Connection) -> str:
    if connection.execute(text("SELECT to_regproc('role_prefix') IS NULL")).scalar_one():
        return prefix_of(connection.execute(text("SELECT current_database()")).scalar_one())
    return str(connection.execute(text("SELECT role_prefix()")).scalar_one())


def search_path(connection: Connection) -> tuple[str, str]:
    """The schema of our tables, and the search path of a function that looks over the wall; both quoted."""
    row = connection.execute(
        text(
            "SELECT current_schema() AS ours, (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n"
            " ON n.oid = e.extnamespace WHERE e.extname = 'vector') AS vectors"
        )
    ).one()
    schemas = dict.fromkeys(("pg_catalog", row.ours, row.vectors, "pg_temp"))
    return _quoted(connection, row.ours), ", ".join(_quoted(connection, schema) for schema in schemas)


def admit(connection: Connection, *, api: str, worker: str) -> None:
    """Let the logins `api` and `worker` act as their roles, and an API login of its own as nothing else.

    They inherit nothing: an inherited role brings its policies along, and the second wall would stand open. Raises
    Misconfigured where the login that migrates may not grant this.
    """
    prefix = _prefix(connection)
    wanted: dict[str, list[Role]] = {}
    wanted.setdefault(api, []).extend(API_ROLES)
    wanted.setdefault(worker, []).extend(WORKER_ROLES)
    try:
        for login, roles in wanted.items():
            if _is_superuser(connection, login):
                continue
            _grant(connection, login, [f"{prefix}{role}" for role in roles])
        owner = connection.execute(text("SELECT current_user")).scalar_one()
        if api not in (worker, owner):
            _revoke(connection, api, {f"{prefix}{role}" for role in WORKER_ROLES})
    except ProgrammingError as error:
        raise Misconfigured(
            f"The login that migrates the database may not let {api} and {worker} act as its roles; set"
            " STRATAGRAPH_OWNER_DATABASE_URL to the login that made them, or to a superuser."
        ) from error


def _is_superuser(connection: Connection, login: str) -> bool:
    return bool(
        connection.execute(text("SELECT rolsuper FROM pg_roles WHERE rolname = :login"), {"login": login}).scalar_one()
    )


def _grant(connection: Connection, login: str, roles: Collection[str]) -> None:
    """What is granted already is left alone: servers start often, and grants are rows that others read."""
    held = _memberships(connection, login)
    for role in sorted(role for role in roles if not held.get(role)):
        connection.execute(
            text(
                f"GRANT {_quoted(connection, role)} TO {_quoted(connection, login)}"
                " WITH ADMIN FALSE, INHERIT FALSE, SET TRUE"
            )
        )
    knows = connection.execute(
        text("SELECT has_function_privilege(CAST(:login AS name), 'role_prefix()', 'EXECUTE')"), {"login": login}
    ).scalar_one()
    if not knows:
        connection.execute(text(f"GRANT EXECUTE ON FUNCTION role_prefix() TO {_quoted(connection, login)}"))


def _revoke(connection: Connection, login: str, roles: Set[str]) -> None:
    for role in sorted(roles & _memberships(connection, login).keys()):
        connection.execute(text(f"REVOKE {_quoted(connection, role)} FROM {_quoted(connection, login)}"))


def _memberships(connection: Connection, login: str) -> dict[str, bool]:
    """The roles a login is a member of, and whether it may act as them while inheriting nothing."""
    rows = connection.execute(
        text(
            "SELECT r.rolname, bool_or(m.set_option) AND NOT bool_or(m.inherit_option) AS enters"
            " FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid JOIN pg_roles l ON l.oid = m.member"
            " WHERE l.rolname = :login GROUP BY r.rolname"
        ),
        {"login": login},
    )
    return {row.rolname: row.enters for row in rows}


def _quoted(connection: Connection, name: str) -> str:
    return connection.dialect.identifier_preparer.quote_identifier(name)
