"""Reading what a line says of its conversation as a whole: identity, outcome, user, tags and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from stratagraph.memory.imports.conversation import Conversation, Step
from stratagraph.memory.imports.fields import Fields, described
from stratagraph.store.model.errors import InvalidInput

OUTCOME_FIELDS = ("outcome", "reward", "success")  # read in this order where the caller names none
ID_FIELDS = ("id", "trace_id", "conversation_id", "task_id", "session_id", "thread_id")
USER_FIELDS = ("user_id", "userId", "user", "username", "end_user_id")
_OUTCOMES = {"success", "failure", "partial"}


def read_half(fields: Fields, half: str, read: Callable[[Fields], None]) -> str | None:
    """Read the `request` or the `response` that a document holds beside the other; return its user, if any."""
    value = fields.take(half)
    if not isinstance(value, dict):
        if value is not None:
            fields.reading.unread[fields.path(half)] += 1
        return None
    with fields.reading.object(value, fields.path(half)) as body:
        read(body)
        user = _user(body)
        metadata = body.take("metadata")
        if isinstance(metadata, dict):
            with body.reading.object(metadata, body.path("metadata")) as more:
                user = user or _user(more)
        return user


def read_envelope(fields: Fields, steps: Sequence[Step], *, user: str | None = None) -> Conversation:
    """Return the conversation of a line whose steps are read; `user` is whose it is where the line does not say.

    Raises InvalidInput for a malformed field.
    """
    reading = fields.reading
    outcome, reason = read_outcome(fields)
    conversation = Conversation(
        id=read_identity(fields),
        steps=list(steps),
        user=_user(fields),
        tags=tuple(tag for tag in fields.list("tags") if isinstance(tag, str)),
        began_at=fields.time("created_at", "timestamp", "started_at", "created"),
        outcome=outcome,
        reason=reason,
        skipped=reading.skipped,
        unread=reading.unread,
    )
    metadata = fields.take("metadata")
    if isinstance(metadata, dict):
        with reading.object(metadata, fields.path("metadata")) as more:
            conversation.user = conversation.user or _user(more)
            conversation.id = conversation.id or read_identity(more)
    elif metadata is not None:
        reading.unread[fields.path("metadata")] += 1
    conversation.user = conversation.user or user
    return conversation


def read_identity(fields: Fields) -> str | None:
    """Return the id that the line states, with the trial where there is one; None without an id."""
    id_ = fields.id(*ID_FIELDS)
    trial = fields.id("trial")
    return id_ if id_ is None or trial is None else f"{id_}:trial-{trial}"


def _user(fields: Fields) -> str | None:
    value = fields.first(*USER_FIELDS)
    if isinstance(value, dict):
        with fields.reading.object(value, fields.path("user")) as user:
            return user.id("id", "user_id", "name")
    if value is None or isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip() or None


def read_outcome(fields: Fields) -> tuple[str | None, str | None]:
    """Return the outcome, and the text that quotes its field. Raises InvalidInput if it is none."""
    named = fields.reading.outcome_field
    names = (named,) if named is not None else OUTCOME_FIELDS
    for name in names:
        value = fields.take(name)
        if value is not None:
            return outcome_of(name, value)
    return None, None


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)


def outcome_of(name: str, value: Any) -> tuple[str, str]:
    """Return the outcome that the value of a field means, and the text that quotes it."""
    reason = f"{name} = {value if isinstance(value, str) else orjson.dumps(value).decode()}" if _is_plain(value) else ""
    if isinstance(value, bool):
        return "success" if value else "failure", reason
    if isinstance(value, int | float) and 0 <= value <= 1:
        return "success" if value == 1 else "failure" if value == 0 else "partial", reason
    if isinstance(value, str) and value.casefold() in _OUTCOMES:
        return value.casefold(), reason
    raise InvalidInput(
        f"{name}: {described(value)} is not an outcome; use success, failure, partial, a boolean, or a number from 0"
        " to 1"
    )
