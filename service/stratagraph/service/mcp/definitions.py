"""The tools as models read them. Every word is in the context of each conversation: a test bounds their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

MAX_TEXT = 100_000  # characters of a text that is stored
MAX_NAME = 256  # characters of a name, a tag or a handle
MAX_REASON = 2_000  # characters
MAX_ITEMS = 50  # of a list
MAX_QUERY = 10_000  # characters
OUTCOMES = ("success", "failure", "partial")
ROLES = ("user", "assistant", "system")


class Kind(Enum):
    """What an argument is, in the words of an error."""

    TEXT = "a text"
    ID = "a UUID"
    TEXTS = "a list of texts"
    IDS = "a list of UUIDs"
    INTEGER = "an integer"
    FLAG = "true or false"
    OBJECT = "a JSON object"


_SCHEMAS: Mapping[Kind, Mapping[str, Any]] = {
    Kind.TEXT: {"type": "string"},
    Kind.ID: {"type": "string"},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.IDS: {"type": "array", "items": {"type": "string"}},
    Kind.INTEGER: {"type": "integer"},
    Kind.FLAG: {"type": "boolean"},
    Kind.OBJECT: {"type": "object"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a tool.

    `most` is the most characters of a text, of each text of a list, or the highest integer; `least` the lowest one.
    """

    kind: Kind = Kind.TEXT
    says: str = ""
    is_required: bool = False
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = MAX_NAME

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a value."""
        made = dict(_SCHEMAS[self.kind])
        if self.choices:
            made["enum"] = list(self.choices)
        if self.kind is Kind.INTEGER:
            made |= {"minimum": self.least, "maximum": self.most}
        if self.says:
            made["description"] = self.says
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One tool. `answer` maps what a result has to its JSON type; those in `always` are in every result."""

    name: str
    says: str
    arguments: Mapping[str, Argument]
    answer: Mapping[str, str]
    always: tuple[str, ...]
    writes: bool = True
    destroys: bool = False
    is_idempotent: bool = False

    def input_schema(self) -> dict[str, Any]:
        required = [name for name, one in self.arguments.items() if one.is_required]
        return {
            "type": "object",
            "properties": {name: one.schema() for name, one in self.arguments.items()},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def annotations(self) -> dict[str, bool]:
        """Return the hints of the specification. Left out are those that say nothing more, or are false by default."""
        if not self.writes:
            return {"readOnlyHint": True, "openWorldHint": False}
        idempotent = {"idempotentHint": True} if self.is_idempotent else {}
        return {"readOnlyHint": False, "destructiveHint": self.destroys, **idempotent, "openWorldHint": False}

    def output_schema(self) -> dict[str, Any]:
        properties = {name: {"type": type_} for name, type_ in self.answer.items()}
        return {"type": "object", "properties": properties, "required": list(self.always)}


def _text(says: str = "", *, most: int = MAX_NAME, required: bool = False) -> Argument:
    return Argument(says=says, most=most, is_required=required)


_ID = Argument(kind=Kind.ID, is_required=True, says="from recall")
_REASON = Argument(most=MAX_REASON)

DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        name="remember",
        says="Store a lasting fact, preference or decision. Call it when you learn what later conversations"
        " need, or are asked to. One self-contained sentence; the same again strengthens it.",
        arguments={
            "text": _text(most=MAX_TEXT, required=True),
            "about": _text("whom or what it concerns"),
            "tags": Argument(kind=Kind.TEXTS),
        },
        answer={"id": "string", "is_new": "boolean", "replaced": "array", "in_doubt": "array"},
        always=("id", "is_new"),
    ),
    Definition(
        name="log_step",
        says="Log a step of the task, for lessons: a message (text) or tool call (tool, args, result, failed). Call it"
        " after steps that matter; pass the returned thread to the next.",
        arguments={
            "text": _text(most=MAX_TEXT),
            "role": Argument(choices=ROLES),
            "tool": _text(),
            "args": Argument(kind=Kind.OBJECT),
            "result": _text(most=MAX_TEXT),
            "failed": Argument(kind=Kind.FLAG),
            "thread": _text(),
        },
        answer={"id": "string", "thread": "string"},
        always=("id", "thread"),
    ),
    Definition(
        name="recall",
        says="Search memory. Call it before you answer or act whenever the user, preferences, earlier conversations or"
        " decisions may matter. Best first; report_outcome takes the retrieval_id.",
        arguments={
            "query": _text("question or task", most=MAX_QUERY, required=True),
            "limit": Argument(kind=Kind.INTEGER, least=1, most=50),
            "token_budget": Argument(kind=Kind.INTEGER, least=50, most=8_000),
        },
        answer={"retrieval_id": "string", "memories": "array", "left_out": "integer"},
        always=("retrieval_id", "memories"),
        writes=False,
    ),
    Definition(
        name="explain",
        says="Tell why a memory is believed: sources, history, related memories; with query, why recall finds it"
        " or not. Call it when a memory looks wrong or is challenged.",
        arguments={"id": _ID, "query": _text(most=MAX_QUERY)},
        answer={
            "id": "string",
            "text": "string",
            "state": "string",
            "sources": "array",
            "history": "array",
            "related": "array",
            "ranking": "object",
        },
        always=("id", "state"),
        writes=False,
    ),
    Definition(
        name="correct",
        says="Replace a wrong or outdated memory; the old one stays in its history. Call it when the user corrects"
        " you or facts change. text is the whole corrected statement.",
        arguments={"id": _ID, "text": _text(most=MAX_TEXT, required=True), "reason": _REASON},
        answer={"id": "string", "text": "string", "replaced": "array"},
        always=("id", "replaced"),
        destroys=True,
    ),
    Definition(
        name="forget",
        says="Stop recalling a memory. Call it when the user asks to forget something. erase destroys it for good:"
        " only on explicit request.",
        arguments={"id": _ID, "reason": _REASON, "erase": Argument(kind=Kind.FLAG)},
        answer={"id": "string", "state": "string"},
        always=("id", "state"),
        destroys=True,
        is_idempotent=True,
    ),
    Definition(
        name="report_outcome",
        says="Tell how a task ended, so that what helped ranks higher. Call it at the end of every task that used"
        " recall, lessons or log_step. used_ids: memories you used.",
        arguments={
            "outcome": Argument(choices=OUTCOMES, is_required=True),
            "retrieval_id": Argument(kind=Kind.ID),
            "used_ids": Argument(kind=Kind.IDS),
            "playbook_id": Argument(kind=Kind.ID),
            "thread": _text(),
            "reason": _REASON,
        },
        answer={"done": "array", "not_done": "array"},
        always=("done",),
    ),
    Definition(
        name="lessons",
        says="Get lessons from past mistakes. Call it before a task of several steps.",
        arguments={
            "task": _text(most=MAX_QUERY),
            "limit": Argument(kind=Kind.INTEGER, least=1, most=20),
        },
        answer={"lessons": "string", "playbook_id": "string"},
        always=("lessons", "playbook_id"),
        writes=False,
    ),
)
BY_NAME: Mapping[str, Definition] = MappingProxyType({one.name: one for one in DEFINITIONS})
