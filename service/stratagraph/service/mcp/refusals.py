"""What a call that fails answers: a text that tells the model what was wrong and what to do next."""

from __future__ import annotations

import re
from collections.abc import Mapping

from stratagraph.service.mcp.definitions import BY_NAME
from stratagraph_client import StratagraphError
from stratagraph_client.errors import (
    Conflict,
    Forbidden,
    IdempotencyMismatch,
    LimitExceeded,
    NotFound,
    RateLimited,
    Unauthenticated,
    Unavailable,
)
from stratagraph_client.operations.documents import OPERATIONS

MAX_MESSAGE = 1_000  # characters
# Of the API's names of fields, those of arguments.
_ARGUMENTS: Mapping[str, str] = {
    "taskDescriptor": "query",
    "rootLimit": "limit",
    "tokenBudget": "token_budget",
    "recordId": "id",
    "rationale": "reason",
    "retrievalId": "retrieval_id",
    "usedRecordIds": "used_ids",
    "playbookId": "playbook_id",
    "threadId": "thread",
    "thread_id": "thread",
    "toolName": "tool",
    "outcomeStatus": "outcome",
    "subject": "about",
    "object": "text",
    "summary": "text",
}
_PATH = re.compile(r"(?<![\w.])(?:variables\.|input\.|memory\.|[A-Za-z_]+\.)*([A-Za-z_]+)(?=:|\.\d+:)")
# What a model calls where the API advises an operation; an advice of another operation is left out.
_TOOLS: Mapping[str, str] = {
    "reportOutcome": "report_outcome",
    "creditLessons": "report_outcome",
    "deleteRecord": "forget with erase: true",
}
_OPERATIONS = frozenset(
    name for one in OPERATIONS.values() for name in re.findall(r"^[^{]*\{ (?:\w+: )?(\w+)", one.text)
)
_QUOTED = re.compile(r"`(\w+)`")
_CLAUSES = re.compile(r"(?<=[.;!?]) +")
_NEXT: tuple[tuple[type[StratagraphError], str], ...] = (
    (RateLimited, "Wait {wait} before you call again; do not repeat the call at once."),
    (Unauthenticated, "Tell the user that the credential of this MCP server is missing or no longer valid."),
    (Forbidden, "Do not try again; tell the user that this credential may not do it."),
    (LimitExceeded, "Ask for less."),
    (IdempotencyMismatch, "Leave it as it is; call correct or forget for a memory that is wrong."),
    (Conflict, "Call recall or explain for the present state, and decide again."),
    (Unavailable, "Go on without memory, and try again in {wait}."),
)

# Where to get what is not found.
_FOUND_BY: Mapping[str, str] = {
    "id": "Call recall for current ids.",
    "used_ids": "Give ids from the answer of that recall.",
    "retrieval_id": "Give the one that recall returned to you.",
    "playbook_id": "Give the one that lessons returned to you.",
    "thread": "Call log_step with this thread first.",
}


class Refused(Exception):
    """A call that is not made, or failed. Its text is for the model; `argument` is the one to change, if there is."""

    def __init__(self, message: str, *, argument: str | None = None) -> None:
        super().__init__(message)
        self.message = message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…"
        self.argument = argument


def refused(error: StratagraphError) -> Refused:
    """Return what a model is told of an error of the API, in the names of the tools' arguments."""
    said = _in_tools(_PATH.sub(lambda found: _ARGUMENTS.get(found[1], found[1]), error.message))
    wait = f"{max(1, round(error.retry_after))} s" if error.retry_after else "a minute"
    if error.code == "EPISODIC_IMMUTABLE":
        return Refused(
            "What has happened is never changed. Call forget with erase: true, if the user asks for that.",
            argument="id",
        )
    path = [_ARGUMENTS.get(part, part) for part in error.path or [] if not part.isdecimal()]
    argument = path[-1] if path else None
    if isinstance(error, NotFound):
        following = _FOUND_BY.get(argument or "", "")
    else:
        following = next((text for kind, text in _NEXT if isinstance(error, kind)), "")
    end = "" if said.endswith((".", "!", "?")) else "."
    return Refused(f"{said}{end} {following.format(wait=wait)}".rstrip(), argument=argument)


def _in_tools(message: str) -> str:
    """Return a message with tools in the place of operations, and without what advises an operation that is no tool."""
    said = _QUOTED.sub(lambda found: _TOOLS.get(found[1], found[0]), message)
    kept = [
        clause
        for clause in _CLAUSES.split(said)
        if not any(name in _OPERATIONS and name not in BY_NAME for name in _QUOTED.findall(clause))
    ]
    return " ".join(kept).rstrip().removesuffix(";") or "The request was refused."
