"""How a transaction begins, and its first statement, which sets its role, its bounds and its timeout."""

from __future__ import annotations

import re

BEGIN = b"BEGIN"
SNAPSHOT = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"  # all statements see one snapshot
_SNAPSHOT_ID = re.compile(r"[0-9A-F]{1,16}(-[0-9A-F]{1,16}){1,2}")  # as pg_export_snapshot names one
# The settings end with the transaction and then read as ''.
BOUNDS = (
    "SELECT set_config('stratagraph.tenant', :tenant, true), set_config('stratagraph.scopes', :scopes, true),"
    " set_config('stratagraph.ceiling', :ceiling, true), set_config('stratagraph.actor', :actor, true)"
)
ENTER = (
    f"{BOUNDS}, set_config('statement_timeout', :statement_timeout, true),"
    " set_config('role', role_prefix() || :role, true)"
)
# The same for a caller, whose tenant another process may have erased: the directory caches its number. Background work
# goes on while a tenant is being erased.
_ENTER_TENANT = f"{ENTER}, tenant_is_open(CAST(:tenant AS bigint)) AS has_tenant"
# The statements of callers and of writers find rows by keys. A plan that is kept must not scan a table that was small
# when it was made.
_NO_SCAN = ", set_config('enable_seqscan', 'off', true)"
ENTER_READER = _ENTER_TENANT + _NO_SCAN
# A reader of a past instant waits for the writers of its tenant (`feed.settling`). A writer takes this lock before it
# can receive a transaction id, which comes before the instant of what it writes.
_WRITER = f"{_NO_SCAN}, pg_advisory_xact_lock_shared(CAST(:writers AS integer), CAST(:writes_for AS integer))"
ENTER_WRITER = ENTER + _WRITER
# A caller's writer takes its transaction id after the lock, since its answer names it.
ENTER_TENANT_WRITER = f"{_ENTER_TENANT}{_WRITER}, pg_current_xact_id()::text AS xid"


def begin_in(snapshot: str | None) -> bytes:
    """Return how a transaction begins that sees the snapshot another one has exported; None: one of its own.

    Raises ValueError for a text that names none.
    """
    if snapshot is None:
        return SNAPSHOT
    if not _SNAPSHOT_ID.fullmatch(snapshot):
        raise ValueError("not the name of a snapshot")
    return SNAPSHOT + b";SET TRANSACTION SNAPSHOT '" + snapshot.encode() + b"'"


TRANSACTION_ID = "SELECT pg_current_xact_id()::text AS xid"
TAKE_TENANT = f"{BOUNDS}, tenant_exists(CAST(:tenant AS bigint)) AS has_tenant"
