"""Letta agent files (.af): agents, their blocks of core memory, archival passages, messages, files and tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.format import Difference, first_difference
from stratagraph.memory.imports.memories.form import Happening, Named, RefusedMemory, Statement, Thing
from stratagraph.memory.imports.memories.format import Found, MemoryFormat, Rows, each
from stratagraph.store.model.payloads.semantic import NOTE

_SYSTEM = "letta"
_PASSAGES = ("archival_memory", "passages", "archival_passages")


def _difference(row: Any) -> Difference | None:
    is_object = isinstance(row, dict)
    if is_object and isinstance(row.get("core_memory"), list):  # a file of version 0.1 is one agent
        return first_difference(
            [("name" in row, "it has no `name`"), (_has_messages(row), "it has no list `messages`")]
        )
    agents = row.get("agents") if is_object else None
    return first_difference(
        [
            (is_object, "its first value is no object"),
            (isinstance(agents, list) and bool(agents), "it has no list `agents`"),
            (
                isinstance(agents, list) and bool(agents) and isinstance(agents[0], dict) and "name" in agents[0],
                "its first agent has no `name`",
            ),
            (is_object and isinstance(row.get("blocks", []), list), "its `blocks` are no list"),
        ]
    )


def _has_messages(row: dict[str, Any]) -> bool:
    return isinstance(row.get("messages", []), list)


def _read(rows: Rows, reading: Reading) -> Iterator[Found]:
    for row in rows:
        if isinstance(row, RefusedMemory):
            yield row
        elif isinstance(row.value, dict) and "agents" not in row.value:
            yield from each([(row.place, row.value)], reading, lambda fields: _agent(fields, {}, {}))
        else:
            yield from each([(row.place, row.value)], reading, _file)


def _file(fields: Fields) -> Iterable[Found]:
    blocks = _by_id(fields.list("blocks"))
    tools = _by_id(fields.list("tools"))
    reading = fields.reading
    agents = [one for one in fields.list("agents") if isinstance(one, dict)]
    named = [one["block_ids"] for one in agents if isinstance(one.get("block_ids"), list)]
    used = {id_ for ids in named for id_ in ids if isinstance(id_, str)}
    reading.skipped["blocks that no agent of the file has"] += len(blocks.keys() - used)
    places = [(f"agents.{number}", value) for number, value in enumerate(fields.list("agents"))]
    for place, value in places:
        yield from each([(place, value)], reading, lambda inner: _agent(inner, blocks, tools), within=place)
    for number, value in enumerate(fields.list("files")):
        place = f"files.{number}"
        yield from each([(place, value)], reading, _attached, within=place)
    fields.skip("settings of the agent file (groups, sources, servers)", "groups", "sources", "mcp_servers")
    fields.take("files_agents", "metadata", "created_at", "revision_id")


def _by_id(values: Sequence[Any]) -> dict[str, Any]:
    return {value["id"]: value for value in values if isinstance(value, dict) and isinstance(value.get("id"), str)}


def _agent(fields: Fields, blocks: dict[str, Any], tools: dict[str, Any]) -> Iterable[Found]:
    name = fields.required_text("name")
    # Files number their agents anew, so that an agent is recognised by its name.
    named = Named(name=name, type="Agent", id=f"agent:{name}")
    reading = fields.reading
    at = fields.time("created_at")
    fields.take("id", "agent_type", "version", "updated_at")
    tags = tuple(one for one in fields.list("tags") if isinstance(one, str))
    yield Thing(id=f"agent:{name}", named=named, summary=fields.text("description"), at=at, tags=tags)
    fields.skip("system prompts (instructions, not experience)", "system")
    fields.take("llm_config", "embedding_config", "in_context_message_ids", "message_ids", "multi_agent_group")
    owned = [blocks[id_] for id_ in fields.list("block_ids") if isinstance(id_, str) and id_ in blocks]
    for number, value in enumerate([*owned, *fields.list("core_memory", "memory_blocks")]):
        place = f"blocks.{number}"
        yield from each([(place, value)], reading, lambda inner: _block(inner, named), within=place)
    for passages in _PASSAGES:
        for number, value in enumerate(fields.list(passages)):
            place = f"{passages}.{number}"
            yield from each([(place, value)], reading, lambda inner: _passage(inner, named), within=place)
    used = [tools[id_] for id_ in fields.list("tool_ids") if isinstance(id_, str) and id_ in tools]
    for tool in [*used, *(one for one in fields.list("tools") if isinstance(one, dict))]:
        if isinstance(tool.get("name"), str) and tool["name"].strip():
            yield Statement(
                id=f"tool:{name}:{tool['name']}",
                subject=named,
                predicate="uses",
                value=Named(name=tool["name"], type="Tool"),
            )
            reading.skipped["code and schemas of tools"] += 1
    for number, value in enumerate(fields.list("messages")):
        place = f"messages.{number}"
        yield from each([(place, value)], reading, lambda inner: _message(inner, named), within=place)


def _block(fields: Fields, agent: Named) -> Iterable[Found]:
    label, value = fields.required_text("label"), fields.text("value")
    description = fields.text("description")
    fields.take("id", "limit", "is_template", "created_at", "updated_at")
    if value and value.strip():
        more = {"description": description} if description else {}
        # A block is one text, which the agent rewrites: the newer one takes the place of the one before.
        yield Statement(id=f"block:{agent.name}:{label}", subject=agent, predicate=label, value=value, more=more)


def _passage(fields: Fields, agent: Named) -> Iterable[Found]:
    text = fields.required_text("text", "content")
    id_ = fields.id("id") or f"text:{text}"
    fields.skip("embeddings", "embedding", "embedding_config")
    tags = tuple(one for one in fields.list("tags") if isinstance(one, str))
    yield Statement(
        id=f"passage:{agent.name}:{id_}",
        subject=agent,
        predicate=NOTE,
        value=text,
        at=fields.time("created_at"),
        tags=tags,
    )


def _message(fields: Fields, agent: Named) -> Iterable[Found]:
    role = fields.required_text("role")
    at = fields.time("created_at")
    text = _text(fields)
    speaker = fields.text("name")
    calls = [name for call in fields.list("tool_calls") if (name := _called(call)) is not None]
    fields.take("id", "agent_id", "model", "otid", "type", "tool_call_id")
    if role in ("system", "developer"):
        fields.reading.skipped["system prompts (instructions, not experience)"] += 1
        return
    said = [text] if text.strip() else []
    for tool, sent in calls:
        if tool == "send_message" and sent is not None:
            said.append(sent)
        else:
            fields.reading.skipped["tool calls of agents and their results (import such logs as traces)"] += 1
    if role == "tool":
        fields.take("tool_returns")
        fields.reading.skipped["tool calls of agents and their results (import such logs as traces)"] += 1
        return
    for number, one in enumerate(said):
        stamp = at.isoformat() if at is not None else ""
        yield Happening(
            id=f"message:{agent.name}:{stamp}:{role}:{number}:{one}",
            kind="message",
            text=one,
            role="assistant" if role == "assistant" else role,
            at=at,
            thread=f"letta:{agent.name}"[:500],
            about=(agent, *((Named(name=speaker),) if speaker and role == "user" else ())),
        )


def _called(call: Any) -> tuple[str, str | None] | None:
    """Return the tool that a message calls, and the text that it sends to the user by that."""
    function: Any = call.get("function") if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        return None
    try:
        arguments = orjson.loads(function.get("arguments") or "null")
    except (TypeError, orjson.JSONDecodeError):
        return name, None
    text = arguments.get("message") if isinstance(arguments, dict) else None
    return name, text if isinstance(text, str) and text.strip() else None


def _text(fields: Fields) -> str:
    content = fields.take("content", "text")
    parts = content if isinstance(content, list) else [content]
    texts = []
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
        elif part is not None:
            fields.reading.skipped["parts of messages that are not text"] += 1
    return "\n".join(texts)


def _attached(fields: Fields) -> Iterable[Found]:
    name = fields.required_text("file_name", "original_file_name", "name")
    text = fields.text("content")
    at = fields.time("file_creation_date", "created_at")
    fields.take("id", "source_id", "file_path", "file_type", "file_size", "processing_status", "original_file_name")
    if text and text.strip():
        yield Happening(id=f"file:{name}:{text}", kind="file", text=text, at=at, more={"file": name})
    else:
        yield Thing(id=f"file:{name}", named=Named(name=name, type="File", id=f"file:{name}"), at=at)


LETTA = MemoryFormat(
    key="letta",
    name="Letta agent file",
    system=_SYSTEM,
    documented="Letta 0.16 (AgentFileSchema), and files of version 0.1 with core_memory",
    difference=_difference,
    read=_read,
    fields=frozenset(
        {"agents", "blocks", "block_ids", "core_memory", "agent_type", "llm_config", "embedding_config", "tool_ids"}
        | {"in_context_message_ids", "mcp_servers", "messages", "tools", "system", *_PASSAGES}
    ),
)
