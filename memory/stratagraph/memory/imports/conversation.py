"""The one form that recorded conversations of every format are read into: what was said, called and returned."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

# Names of the two sides in formats that call them otherwise. Other roles are kept as they are.
ROLES = {
    "human": "user",
    "ai": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A part of a message that is no text. `data` are its bytes, None where the file only names it by `uri`."""

    name: str | None = None
    media_type: str | None = None
    data: bytes | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A turn. `speaker` is the name of who spoke, where the message has one; `at` is None where it has no time."""

    role: str
    text: str
    speaker: str | None = None
    at: datetime | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A tool call. `id` is None in formats without ids: the next result of the same tool answers it.

    `arguments` is JSON, or the text that was sent if it is none. Calls of one `turn` ran side by side: the number of
    the message that made them.
    """

    tool: str
    arguments: Any
    turn: int
    id: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The result of a tool call, of which `id` or else `tool` names the call.

    `failed` is what the file's flags say (`is_error`, `status`, an exit code); None where it has none.
    """

    text: str
    id: str | None = None
    tool: str | None = None
    failed: bool | None = None
    at: datetime | None = None
    attachments: tuple[Attachment, ...] = ()


Step = Said | Called | Returned


@dataclass(slots=True, kw_only=True)
class Conversation:
    """A recorded conversation.

    `id` is the identity that the file states, None if it has none. `user` is the id or name of the user whose
    conversation it is, where the file says so; `began_at` its time, for steps without one. `outcome` is success,
    failure, partial, or None; `reason` quotes the field it was read from. `skipped` counts what is left out on purpose
    by reason (such as system prompts), `unread` the fields that no reader knows by their path.
    """

    id: str | None
    steps: list[Step]
    user: str | None = None
    tags: tuple[str, ...] = ()
    began_at: datetime | None = None
    outcome: str | None = None
    reason: str | None = None
    skipped: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
