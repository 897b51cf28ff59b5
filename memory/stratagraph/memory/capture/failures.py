"""Captures that failed inside: kept with their input and retried in the background, so that nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from stratagraph.memory.capture.draft import Draft
from stratagraph.store.event_log import get_logger
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.errors import StoreUnavailable, StratagraphError, error_kind
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.candidates import Committed
from stratagraph.store.records.failed_captures import insert_failed_captures

_log = get_logger(__name__)


class FailedCaptureGone(StratagraphError):
    """The failed capture was stored or dropped since it was read."""


async def keep_failed(
    database: Database, directory: Directory, caller: Caller, drafts: Sequence[Draft], error: Exception, *, at: datetime
) -> StoreUnavailable:
    """Store the captures of a request that failed inside, in a transaction of its own; return the error to raise.

    Captures of an import are not kept, because the import itself is run again.
    """
    _log.error("capture failed", candidate=str(drafts[0].candidate), **error_report(error))
    if drafts[0].request.imported is not None:
        return StoreUnavailable(
            "The import stopped, because of an internal failure; the server log has the reason. Run it again: it"
            " stores what is missing."
        )
    scopes = await directory.scopes(caller.tenant, {draft.scope for draft in drafts}, create=False)
    async with database.writing(caller.bounds) as connection:
        await insert_failed_captures(
            connection,
            caller,
            [
                {
                    "id": draft.candidate,
                    "source": draft.request.source,
                    "source_kind": draft.request.source_kind.value,
                    "scope": scopes[draft.scope],
                    "sensitivity": draft.sensitivity,
                    "input": draft.request.as_stored_json(),
                }
                for draft in drafts
            ],
            stage="commit",
            error=error_kind(error),
            at=at,
        )
    return StoreUnavailable(
        f"The capture was not stored, because of an internal failure. Its input is kept as candidate"
        f" {drafts[0].candidate} and retried in the background; `failedCaptures` and `stratagraph captures list` show"
        " when. Send it again only with the same idempotencyKey, or after dropping the candidate, since both would be"
        " stored otherwise."
    )


def replayed_candidates(drafts: Sequence[Draft], replays: Mapping[int, Committed]) -> list[dict[str, object]]:
    """Return the rows of failed captures whose idempotency keys were used by the same requests since.

    Each becomes a committed candidate that names the record of the earlier one and has created nothing.
    """
    return [
        {"id": draft.candidate, "source": None, "record": replays[draft.position].record, "created": (), "edges": ()}
        for draft in drafts
        if draft.position in replays
    ]
