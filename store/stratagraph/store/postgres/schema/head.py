"""The present schema in a database: all of it in an empty one; functions, views and rights where they changed.

Only tables have numbered migrations. Functions, views, grants and policies are dropped and made again when their text
differs from that which the database has; a comment on `role_prefix()` keeps the version and the digest of the text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import Connection, text

from stratagraph.store.postgres.database import Role
from stratagraph.store.postgres.roles import OWNERS_ONLY, make_roles, role_names, role_prefix, search_path
from stratagraph.store.postgres.schema import rights
from stratagraph.store.postgres.schema.tables import metadata

_MARK = "made by Stratagraph from its schema folder"
_APPLIED = re.compile(rf"{_MARK} (\S+) (\w+)")  # the comment on `role_prefix()`: the version and the digest
_FOLDER = Path(__file__).parent
_EXTENSIONS = ("vector", "pg_trgm", "btree_gist", "btree_gin")
# By extension, an expression that calls a function of its library, with the extension's schema as a word. A login that
# is no superuser may set a setting of a library only in a session that has loaded it, and may not use LOAD.
_LIBRARY_CALLS = {"vector": "CAST('[0]' AS {schema}.vector)", "pg_trgm": "{schema}.show_limit()"}
# The rows that a new database has.
_FIRST_ROWS = (
    "INSERT INTO sync_snapshot (snap) VALUES (pg_current_snapshot())",
    "INSERT INTO sync_feed DEFAULT VALUES",
    "INSERT INTO duplicate_progress (is_filling) VALUES (true)",
    "INSERT INTO census (id, work_s, took_s) VALUES (1, 0, 0)",
)


def build_tables(connection: Connection) -> None:
    """Create the extensions, the tables and their first rows in an empty database."""
    for extension in _EXTENSIONS:
        connection.execute(text(f"CREATE EXTENSION IF NOT EXISTS {extension}"))
    metadata.create_all(connection)
    connection.execute(text("CREATE TABLE sync_log_default PARTITION OF sync_log DEFAULT"))
    for statement in _FIRST_ROWS:
        connection.execute(text(statement))


def run(connection: Connection, script: Path) -> None:
    """Execute the statements of a migration, each of which ends with `;` at the end of a line before an empty one."""
    for statement in script.read_text(encoding="utf-8").split(";\n\n"):
        if statement.strip():
            connection.execute(text(statement.strip().removesuffix(";")))


def apply(connection: Connection) -> None:
    """Give the database the functions, views and rights of this version, if it has others.

    Those of a newer version of Stratagraph stay. Runs in the transaction of the connection, as the login that owns the
    tables; it need not be a superuser.
    """
    prefix = role_prefix(connection)
    roles = role_names(prefix, [*Role, *OWNERS_ONLY])
    schema, path = search_path(connection)
    made = list(_scripts({"prefix": f"'{prefix}'", "search_path": path}))
    given = list(rights.statements(roles))
    digest = hashlib.sha256("\n".join([*made, *given]).encode()).hexdigest()
    own = version("stratagraph")
    applied = _APPLIED.fullmatch(_comment(connection))
    if applied is not None and (applied[2] == digest or _order(applied[1]) > _order(own)):
        return
    make_roles(connection, roles)
    _load_libraries(connection)
    connection.execute(text(f"GRANT USAGE ON SCHEMA {schema} TO {', '.join(roles.values())}"))
    connection.execute(text(f"GRANT CREATE ON SCHEMA {schema} TO {roles['maintenance']}"))
    makers = ", ".join(roles[role] for role in OWNERS_ONLY)
    connection.execute(text(f"GRANT CREATE ON SCHEMA {schema} TO {makers}"))  # which owning needs, for this transaction
    marks = [f"COMMENT ON {path.parent.name[:-1].upper()} {path.stem} IS '{_MARK}'" for path in _paths()]
    views = [f"REVOKE ALL ON {path.stem} FROM PUBLIC" for path in _paths() if path.parent.name == "views"]
    for part in (_removals(connection, roles), made, marks, views, _ownership(connection, roles), given):
        for statement in list(part):
            connection.execute(text(statement))
    others = ", ".join(name for role, name in roles.items() if role != Role.MAINTENANCE)
    connection.execute(text(f"REVOKE CREATE ON SCHEMA {schema} FROM {others}"))
    connection.execute(text(f"COMMENT ON FUNCTION role_prefix() IS '{_MARK} {own} {digest}'"))


def _comment(connection: Connection) -> str:
    found = connection.execute(text("SELECT obj_description(to_regproc('role_prefix'), 'pg_proc')")).scalar_one()
    return str(found or "")


def _order(version_: str) -> tuple[list[int], bool]:
    """Return what versions are compared by: the numbers of the release, and whether it is no pre-release of it."""
    release = re.match(r"\d+(?:\.\d+)*", version_)
    numbers = release[0] if release is not None else ""
    return [int(part) for part in numbers.split(".") if part], numbers == version_


def _paths() -> list[Path]:
    """Return the files of functions, then those of views, which call them."""
    return sorted((_FOLDER / "functions").glob("*.sql")) + sorted((_FOLDER / "views").glob("*.sql"))


def _scripts(words: dict[str, str]) -> Iterator[str]:
    """Yield the statements that make the functions and the views, with `{word}` replaced."""
    for path in _paths():
        script = path.read_text(encoding="utf-8").strip().removesuffix(";")
        for word, meaning in words.items():
            script = script.replace(f"{{{word}}}", meaning)
        yield script


def _removals(connection: Connection, roles: dict[str, str]) -> Iterator[str]:
    """Yield the statements that drop the policies, grants, views and functions that the database has.

    Another's view or function in the schema stays: a view or function of an earlier version has our mark.
    """
    tables = text(
        "SELECT quote_ident(c.relname) AS name, pg_has_role(c.relowner, 'USAGE') AS is_ours,"
        " pg_get_userbyid(c.relowner) AS owner,"
        " ARRAY(SELECT quote_ident(p.polname) FROM pg_policy p WHERE p.polrelid = c.oid) AS policies"
        " FROM pg_class c WHERE c.relnamespace = to_regnamespace(current_schema()) AND c.relkind IN ('r', 'p')"
        " AND (c.relname = ANY(:names) OR c.relispartition)"
    )
    for table in connection.execute(tables, {"names": [*metadata.tables, rights.REVISION_TABLE]}):
        drops = (f"DROP POLICY {name} ON {table.name}" for name in table.policies)
        others = ", ".join(name for name in roles.values() if name.strip('"') != table.owner)
        revoked = f"REVOKE ALL ON {table.name} FROM PUBLIC, {others}"
        yield from rights.as_owner(None if table.is_ours else f'"{table.owner}"', *drops, revoked)
    made = text(
        "SELECT 'VIEW' AS kind, quote_ident(c.relname) AS name FROM pg_class c"
        " WHERE c.relnamespace = to_regnamespace(current_schema()) AND c.relkind = 'v'"
        " AND (c.relname = ANY(:names) OR obj_description(c.oid, 'pg_class') LIKE :mark)"
        " UNION ALL SELECT 'FUNCTION', CAST(CAST(p.oid AS regprocedure) AS text) FROM pg_proc p"
        " WHERE p.pronamespace = to_regnamespace(current_schema())"
        " AND (p.proname = ANY(:names) OR obj_description(p.oid, 'pg_proc') LIKE :mark)"
    )
    found = connection.execute(made, {"names": [path.stem for path in _paths()], "mark": f"{_MARK}%"}).all()
    for kind in ("VIEW", "FUNCTION"):  # each in one statement, because some depend on others
        names = ", ".join(row.name for row in found if row.kind == kind)
        if names:
            yield f"DROP {kind} {names}"


def _ownership(connection: Connection, roles: dict[str, str]) -> Iterator[str]:
    """Yield the statements that give tables and views their owners, and tables without it row-level security."""
    found = {
        row.relname: row
        for row in connection.execute(
            text(
                "SELECT relname, relkind, relispartition, relrowsecurity, pg_get_userbyid(relowner) AS owner"
                " FROM pg_class WHERE relnamespace = to_regnamespace(current_schema())"
            )
        )
    }
    for table in metadata.tables:
        if not found[table].relrowsecurity:
            yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
    for name, role in rights.owners().items():
        is_partitioned = found[name].relkind == "p"  # as the change log is, alone of all tables
        for row in found.values():
            is_part = is_partitioned and row.relispartition and row.relkind == "r"
            if (row.relname == name or is_part) and row.owner != roles[role].strip('"'):
                yield f"ALTER TABLE {row.relname} OWNER TO {roles[role]}"


def _load_libraries(connection: Connection) -> None:
    """Load the libraries of the extensions that have settings, which functions set."""
    installed = connection.execute(
        text(
            "SELECT e.extname, quote_ident(n.nspname) AS schema FROM pg_extension e"
            " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = ANY(:names)"
        ),
        {"names": list(_LIBRARY_CALLS)},
    )
    for extension in installed.all():
        connection.execute(text(f"SELECT {_LIBRARY_CALLS[extension.extname].format(schema=extension.schema)}"))
