"""The roles of one database: their names, their creation, and the logins that may act as them.

Roles belong to the whole server, so their names begin with the name that the database had when it was migrated. The
SQL function `role_prefix()` returns that prefix, also in a copy of the database under another name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Set

from sqlalchemy import Connection, text
from sqlalchemy.exc import ProgrammingError

from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.postgres.database import Role

API_ROLES = (Role.READ, Role.WRITE)
OWNERS_ONLY = ("heads", "search")  # own views and functions; nobody acts as them
WORKER_ROLES = tuple(role for role in Role if role not in API_ROLES)
_BEFORE_THE_ROLE = ("role_prefix()", "tenant_is_open(bigint)")  # functions that a login calls before it takes a role
PREFIX_MAX = 40  # bytes of the database's name; PostgreSQL truncates identifiers at 63 bytes


def prefix_of(database: str) -> str:
    """Return the prefix of a database's role names: ASCII letters, digits and _ only, and at most 50 bytes.

    >>> prefix_of("memories")
    'memories_'
    >>> prefix_of("memories of Köln")
    'memories_of_K_ln_85932aec_'
    """
    plain = re.sub(r"[^A-Za-z0-9_]", "_", database)
    if plain == database and len(plain) <= PREFIX_MAX:
        return f"{plain}_"
    return f"{plain[:PREFIX_MAX]}_{hashlib.sha256(database.encode()).hexdigest()[:8]}_"


def role_names(prefix: str, roles: Iterable[str]) -> dict[str, str]:
    """Return the quoted name that each role has in the database with this prefix.

    >>> role_names("memories_", ["read"])
    {'read': '"memories_read"'}
    """
    return {role: f'"{prefix}{role}"' for role in roles}


def make_roles(connection: Connection, quoted: Mapping[str, str]) -> None:
    """Create the missing roles, given as by `role_names`, and let the migrating login act as all of them.

    Raises Misconfigured if the login may not create roles, or if a role of this name can log in or has privileges
    beyond those of Stratagraph's roles.
    """
    names = {role: name.strip('"') for role, name in quoted.items()}
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
            f"The roles {', '.join(taken)} are not Stratagraph's but have names that it needs: they can log in or have"
            " server-wide privileges. Rename them."
        )
    known = {row.rolname for row in found}
    may = connection.execute(
        text("SELECT rolsuper, rolcreaterole, rolname FROM pg_roles WHERE rolname = current_user")
    ).one()
    if len(known) < len(names) and not (may.rolsuper or may.rolcreaterole):
        raise Misconfigured(
            "The login that migrates the database may not create roles: let an administrator run"
            f" ALTER ROLE {_quoted(connection, may.rolname)} CREATEROLE, or set STRATAGRAPH_OWNER_DATABASE_URL."
        )
    for role, name in names.items():
        if name not in known:
            connection.execute(text(f"CREATE ROLE {quoted[role]} NOLOGIN NOINHERIT"))
        if not may.rolsuper:  # only a superuser may give ownership to a role of which it is no member
            connection.execute(text(f"GRANT {quoted[role]} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE"))


def role_prefix(connection: Connection) -> str:
    """Return the prefix of the names of this database's roles."""
    if connection.execute(text("SELECT to_regproc('role_prefix') IS NULL")).scalar_one():
        return prefix_of(connection.execute(text("SELECT current_database()")).scalar_one())
    return str(connection.execute(text("SELECT role_prefix()")).scalar_one())


def search_path(connection: Connection) -> tuple[str, str]:
    """Return the schema of our tables and the search path for SECURITY DEFINER functions, both quoted."""
    row = connection.execute(
        text(
            "SELECT current_schema() AS ours, (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n"
            " ON n.oid = e.extnamespace WHERE e.extname = 'vector') AS vectors"
        )
    ).one()
    schemas = dict.fromkeys(("pg_catalog", row.ours, row.vectors, "pg_temp"))
    return _quoted(connection, row.ours), ", ".join(_quoted(connection, schema) for schema in schemas)


def grant_roles(connection: Connection, *, api: str, worker: str) -> None:
    """Let the login `api` act as API_ROLES and `worker` as WORKER_ROLES.

    If `api` is neither the worker's login nor the owner, worker roles granted to it earlier are revoked. Grants do not
    inherit: the policies of an inherited role would apply to the login itself and defeat row-level security. Raises
    Misconfigured if the migrating login may not grant the roles.
    """
    prefix = role_prefix(connection)
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
            _revoke(connection, api, {f"{prefix}{role}" for role in (*WORKER_ROLES, *OWNERS_ONLY)})
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
    """Grant the missing roles. Existing grants are not repeated, since each would rewrite rows of the catalog."""
    held = _memberships(connection, login)
    for role in sorted(role for role in roles if not held.get(role)):
        connection.execute(
            text(
                f"GRANT {_quoted(connection, role)} TO {_quoted(connection, login)}"
                " WITH ADMIN FALSE, INHERIT FALSE, SET TRUE"
            )
        )
    uses = text("SELECT has_schema_privilege(CAST(:login AS name), current_schema(), 'USAGE'), current_schema()")
    may_use, schema = connection.execute(uses, {"login": login}).one()
    if not may_use:
        connection.execute(text(f"GRANT USAGE ON SCHEMA {_quoted(connection, schema)} TO {_quoted(connection, login)}"))
    for function in _BEFORE_THE_ROLE:
        may_execute = connection.execute(
            text("SELECT has_function_privilege(CAST(:login AS name), :function, 'EXECUTE')"),
            {"login": login, "function": function},
        ).scalar_one()
        if not may_execute:
            connection.execute(text(f"GRANT EXECUTE ON FUNCTION {function} TO {_quoted(connection, login)}"))


def _revoke(connection: Connection, login: str, roles: Set[str]) -> None:
    for role in sorted(roles & _memberships(connection, login).keys()):
        connection.execute(text(f"REVOKE {_quoted(connection, role)} FROM {_quoted(connection, login)}"))


def _memberships(connection: Connection, login: str) -> dict[str, bool]:
    """Return the roles that the login is a member of, with whether it may act as them without inheriting them."""
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
