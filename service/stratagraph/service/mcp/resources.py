"""Resources: a record, an episode, a thread and a plan, each as text to read and as JSON."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote, unquote
from uuid import UUID

import orjson
from mcp_types import ResourceTemplate, TextResourceContents
from pydantic import BaseModel

from stratagraph.service.mcp.mermaid import flowchart
from stratagraph.service.mcp.refusals import Refused, refused
from stratagraph.service.mcp.texts import HIDDEN, cut, moment
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.shown_text import as_json_escapes, shown_text
from stratagraph_client import AsyncMemory, StratagraphError
from stratagraph_client.errors import NotFound
from stratagraph_client.operations.enums import MemoryType
from stratagraph_client.operations.fragments import RecordFields

MOST_RELATIONS, MOST_EVENTS, MOST_TURNS = 50, 500, 50
MAX_TEXT = 64_000  # characters of the text
MAX_JSON = 256_000  # characters of the JSON; a longer payload is left out
_MARKDOWN, _JSON, _MERMAID = "text/markdown", "application/json", "text/vnd.mermaid"
_URI = re.compile(r"stratagraph://(record|episode|thread|plan)/([^/?#]{1,2000})\Z")
_Read = tuple[str, str, Mapping[str, Any]]  # media type and text, and the JSON

TEMPLATES = (
    ResourceTemplate(
        name="record", uri_template="stratagraph://record/{id}", description="A memory with sources and relations"
    ),
    ResourceTemplate(
        name="episode", uri_template="stratagraph://episode/{id}", description="What happened in a task, step by step"
    ),
    ResourceTemplate(
        name="thread", uri_template="stratagraph://thread/{thread}", description="Newest steps of a thread"
    ),
    ResourceTemplate(name="plan", uri_template="stratagraph://plan/{id}", description="A plan as a mermaid flowchart"),
)


async def read(memory: AsyncMemory, uri: str) -> list[TextResourceContents]:
    """Return a resource: a text, then the same as JSON. Raises Refused."""
    found = _URI.match(uri)
    if found is None or not uri.isascii():
        forms = ", ".join(one.uri_template for one in TEMPLATES)
        raise Refused(f"There is no resource {shown(uri)}; there are {forms}.")
    kind, name = found[1], unquote(found[2], errors="replace")
    if kind != "thread" and not _is_uuid(name):
        raise Refused(f"{shown(name)} is no id; take it from the answer of a tool, such as recall.")
    try:
        media_type, text, data = await _READERS[kind](memory, name)
    except StratagraphError as error:
        raise refused(error) from None
    written = orjson.dumps(data).decode()
    if len(written) > MAX_JSON:
        left = {key: value for key, value in data.items() if key not in ("payload", "steps", "turns", "links")}
        written = orjson.dumps({**left, "left_out": f"{len(written):,} characters are too many; ask the API"}).decode()
    return [
        TextResourceContents(uri=uri, mime_type=media_type, text=cut(text, MAX_TEXT)),
        TextResourceContents(uri=uri, mime_type=_JSON, text=as_json_escapes(written)),
    ]


async def _record(memory: AsyncMemory, id_: str) -> _Read:
    record = (await memory.operations.explain(id_)).record
    if record is None:
        raise _unknown("record", id_)
    sources = record.provenance.sources if record.provenance is not None else []
    lines = [
        f"# {_line(record.name or record.type_.value.lower())}",
        "",
        f"- type: {record.type_.value.lower()}, state: {record.state.value.lower()}, version {record.version}",
        f"- confidence {record.confidence:.2f}, stored {moment(record.createdAt)}",
        *(f"- source: {_line(one.kind.lower())} {_line(one.ref)}" for one in sources[:MOST_RELATIONS]),
    ]
    for one in (record.relations or [])[:MOST_RELATIONS]:
        is_outgoing = one.sourceId == record.id
        other = one.target if is_outgoing else one.source
        if other is not None:
            predicate = one.predicate if is_outgoing else one.inverse
            lines.append(
                f"- {predicate}: {_line(other.name or other.type_.value.lower())} ({_uri('record', other.id)})"
            )
    lines += ["", f"{HIDDEN}, so it is not shown."] if record.redacted else ["", *_quoted(record.text or "")]
    return _MARKDOWN, "\n".join(lines), _data(record, without=set())


async def _episode(memory: AsyncMemory, id_: str) -> _Read:
    record = (await memory.operations.explain(id_)).record
    if record is None or record.type_ is not MemoryType.EPISODIC:
        raise _unknown("episode", id_)
    payload = record.payload if isinstance(record.payload, dict) else {}
    events = payload.get("timeline")
    lines = [f"# {_line(record.name or 'Episode')}", "", *_quoted(record.text or ""), ""]
    for event in (events if isinstance(events, list) else [])[:MOST_EVENTS]:
        if isinstance(event, dict):
            said = event.get("summary") or event.get("event_kind") or ""
            head = _line(f"{event.get('t', '')} {event.get('event_kind', '')}")
            lines.append(f"- {head}: {_line(str(said))}")
    return _MARKDOWN, "\n".join(lines), _data(record, without={"relations"})


async def _thread(memory: AsyncMemory, name: str) -> _Read:
    thread = await memory.operations.thread(id=name, first=MOST_TURNS)
    if thread is None or not (thread.working or thread.turns.nodes or thread.episodes.nodes):
        raise _unknown("thread", name)
    lines = [f"# Thread {_line(name)}", ""]
    if thread.working is not None:
        lines += [*_quoted(thread.working.text or ""), ""]
    lines += [f"- {_when(one)} {_line(one.text or one.name or '')}" for one in reversed(thread.turns.nodes)]
    lines += [f"- episode: {_line(one.name or '')} ({_uri('episode', one.id)})" for one in thread.episodes.nodes]
    return _MARKDOWN, "\n".join(lines), _data(thread, without=set())


async def _plan(memory: AsyncMemory, id_: str) -> _Read:
    plan = await memory.operations.plan_graph(id=id_)
    if plan is None:
        raise _unknown("plan", id_)
    return _MERMAID, flowchart(plan), _data(plan, without=set())


_READERS: Mapping[str, Callable[[AsyncMemory, str], Awaitable[_Read]]] = {
    "record": _record,
    "episode": _episode,
    "thread": _thread,
    "plan": _plan,
}


def _data(found: BaseModel, *, without: set[str]) -> Mapping[str, Any]:
    data: dict[str, Any] = found.model_dump(mode="json", by_alias=True, exclude=without)
    return data


def _when(record: RecordFields) -> str:
    return moment(record.occurredAt or record.createdAt)


def _line(text: str) -> str:
    """Return a text as part of a line, shortened."""
    return cut(" ".join(shown_text(text).split()), 400)


def _quoted(text: str) -> list[str]:
    """Return the lines of a text, each marked as quoted, so that none looks like one of the lines around them."""
    return [f"> {line}" for line in shown_text(text).splitlines()]


def _uri(kind: str, name: str) -> str:
    return f"stratagraph://{kind}/{quote(name, safe='')}"


def _is_uuid(name: str) -> bool:
    try:
        return str(UUID(name)) == name.lower()
    except ValueError:
        return False


def _unknown(kind: str, name: str) -> NotFound:
    return NotFound(f"There is no {kind} {shown(name)} that this credential may see.")
