"""Warnings: what a request gave and the service did not use, which the receipt says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from stratagraph.store.model.error_values import MAX_PART, shortened_message


class WarningCode(Enum):
    KEY_RESEMBLES_KNOWN = "key_resembles_known"  # an unknown key that was kept, and is like one that is read
    KEY_NOT_READ = "key_not_read"  # an unknown key that was neither read nor kept
    VALUE_NOT_USED = "value_not_used"  # a known key whose value was left out, and why
    REFERENCE_NOT_FOUND = "reference_not_found"  # no record that the caller may read
    CALL_NOT_FOUND = "call_not_found"  # no call of the thread's open episode
    MENTION_NOT_LINKED = "mention_not_linked"  # a name that the caller listed and that means no entity
    RECORD_NOT_CREDITED = "record_not_credited"  # a record that a report names and that it did not change
    SECRET_MASKED = "secret_masked"


@dataclass(frozen=True, slots=True)
class RequestWarning:
    """One warning. `path` names the input field that it concerns, outermost first."""

    code: WarningCode
    message: str
    path: tuple[str, ...]


def replaced_path(one: RequestWarning, path: Sequence[str]) -> RequestWarning:
    """Return the warning with another path, of a request that gives the same in another place."""
    return warning(one.code, path, one.message.removeprefix(f"{'.'.join(one.path)}: "))


def camel_case(key: str) -> str:
    """Return a key as GraphQL spells it.

    >>> camel_case("thread_id")
    'threadId'
    """
    first, *rest = key.split("_")
    return first + "".join(map(str.capitalize, rest))


def warning(code: WarningCode, path: Sequence[str], problem: str) -> RequestWarning:
    """Return a warning whose message begins with its path. `problem` says what was done, and what to do instead."""
    parts = tuple(part[:MAX_PART] for part in path)
    return RequestWarning(code, shortened_message(f"{'.'.join(parts)}: {problem}"), parts)
