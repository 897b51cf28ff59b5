"""The page of rights, `rights.txt`, as statements: owners, row-level security, grants and policies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

REVISION_TABLE = "alembic_version"  # has one row, the number of the newest migration; its name is an older one
PAGE = Path(__file__).with_name("rights.txt")

_READABLE = (
    "tenant = (SELECT caller_tenant()) AND sensitivity <= (SELECT caller_ceiling()){above}"
    " AND ((SELECT caller_has_all_scopes()) OR scope = ANY ((SELECT caller_scopes())::integer[]))"
)
_RECORD = "(SELECT true FROM record r WHERE r.tenant = {table}.tenant AND r.id = {table}.{id})"
_TOMBSTONE = "(SELECT true FROM tombstone t WHERE t.tenant = {table}.tenant AND t.id = {table}.id)"
# The condition for each kind of rows. A subquery that needs no row of the table is evaluated once per statement. The
# planner may turn EXISTS into a hash of the whole table, so a look-up is a scalar subquery.
ROWS: Mapping[str, str] = {
    "all": "true",
    "tenant": "tenant = (SELECT caller_tenant())",
    "readable": _READABLE.format(above=""),
    "level above": _READABLE.format(above=" + 1"),
    "scope": "tenant = (SELECT caller_tenant())"
    " AND ((SELECT caller_has_all_scopes()) OR id = ANY ((SELECT caller_scopes())::integer[]))",
    "own": "tenant = (SELECT caller_tenant()) AND actor = (SELECT caller_actor())",
    "record": _RECORD,
    "readable, record": f"{_READABLE.format(above='')} AND {_RECORD}",
    "record or tombstone": f"{_RECORD} OR {_TOMBSTONE}",
    "record or tombstone, level": "coalesce(sensitivity, 0) <= (SELECT caller_ceiling())"
    f" AND ({_RECORD} OR {_TOMBSTONE})",
    "referenced": "(SELECT true FROM artifact_reference x WHERE x.tenant = {table}.tenant AND x.sha256 = {table}.sha256"
    " LIMIT 1) OR (SELECT true FROM artifact_upload x WHERE x.tenant = {table}.tenant AND x.sha256 = {table}.sha256"
    " LIMIT 1)",
}
# Elsewhere it is `id`.
_RECORD_COLUMNS = {
    "artifact_reference": "record",
    "candidate": "record",
    "episode_event": "record",
    "fact_trim": "fact",
}
_RIGHT = re.compile(r"(\w+)(\([^)]*\))?")
_GAP = re.compile(r" {2,}")


@dataclass(frozen=True, slots=True)
class Line:
    """The rights of roles on a table or view, or the owner and the callers of a function."""

    name: str
    roles: tuple[str, ...]
    rows: str
    rights: str


def lines(section: str) -> Iterator[Line]:
    """Yield the lines of a section of the page: "tables and views" or "functions"."""
    name, inside = "", False
    for text in PAGE.read_text(encoding="utf-8").splitlines():
        if text.startswith("["):
            inside = text == f"[{section}]"
        if not inside or not text or text.startswith(("#", "[")):
            continue
        first, *cells = _GAP.split(text.rstrip()) if not text.startswith(" ") else ("", *_GAP.split(text.strip()))
        name = first or name
        if section == "functions":
            owner, callers = cells
            yield Line(name, tuple(callers.split(", ")), "", owner)
        else:
            roles, rows, rights = cells
            yield Line(name, tuple(roles.split(", ")), rows, rights)


def owners() -> dict[str, str]:
    """Return the role that owns a table or view, for those that do not belong to the migrating login."""
    return {line.name: line.roles[0] for line in lines("tables and views") if line.rights == "owner"}


def statements(roles: Mapping[str, str]) -> Iterator[str]:
    """Yield the statements that give the rights of the page, given the quoted name of each role.

    They expect that nothing on the page has a policy or a grant yet, and run as the login that migrates.
    """
    owned = owners()
    for line in lines("tables and views"):
        if line.rights == "owner":
            continue
        found = dict(_RIGHT.findall(line.rights))
        policies = (policy for role in line.roles for policy in _policies(line, role, roles[role], found))
        given = (_grant(line.name, found, ", ".join(roles[role] for role in line.roles)), *policies)
        yield from as_owner(roles[owned[line.name]] if line.name in owned else None, *given)
    for line in lines("functions"):
        if line.roles != ("everybody",):
            yield f"REVOKE ALL ON FUNCTION {line.name} FROM PUBLIC"
            if line.roles != ("logins",):  # who gets it with its roles
                yield f"GRANT EXECUTE ON FUNCTION {line.name} TO {', '.join(roles[role] for role in line.roles)}"
        if line.rights not in ("-", "definer"):
            yield f"ALTER FUNCTION {line.name} OWNER TO {roles[line.rights]}"


def _grant(table: str, rights: Mapping[str, str], names: str) -> str:
    granted = (f"{'UPDATE' if right == 'lock' else right.upper()} {columns}" for right, columns in rights.items())
    return f"GRANT {', '.join(granted)} ON {table} TO {names}"


def _policies(line: Line, role: str, name: str, rights: Mapping[str, str]) -> Iterator[str]:
    """Yield one policy of a role, or one for each command where a row may be locked and not changed."""
    if line.rows == "-":
        return
    table = line.name
    condition = ROWS[line.rows].format(table=table, id=_RECORD_COLUMNS.get(table, "id"))
    if "lock" not in rights:
        yield f"CREATE POLICY {role} ON {table} TO {name} USING ({condition})"
        return
    for right in rights:
        command = "UPDATE" if right == "lock" else right.upper()
        check = " WITH CHECK (false)" if right == "lock" else ""
        yield f"CREATE POLICY {role}_{right} ON {table} FOR {command} TO {name} USING ({condition}){check}"


def as_owner(owner: str | None, *given: str) -> Iterator[str]:
    """Yield the statements, run as the owner of their table: another login may not give rights on it."""
    if owner is not None:
        yield f"SET LOCAL ROLE {owner}"
    yield from given
    if owner is not None:
        yield "RESET ROLE"
