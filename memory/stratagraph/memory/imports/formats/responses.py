"""The OpenAI Responses API: lists of items, as sent (`input`), as answered (`output`), or both.

A document is a request, a response, both, or the list of items. In a file of responses that name the previous one, each
chain of them is a conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from stratagraph.memory.imports.conversation import Conversation
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.envelope import read_envelope, read_half
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference, one_a_line
from stratagraph.memory.imports.formats.parts import PROMPTS
from stratagraph.memory.imports.formats.response_items import ItemReader, is_item
from stratagraph.memory.imports.formats.transcript import Transcript
from stratagraph.store.model.errors import InvalidInput

MAX_READ = 100_000  # responses of all conversations of a file
EARLIER = "earlier responses that are not in the file (`previous_response_id`)"
_LISTS = ("input", "output", "items")
_HALVES = ("request", "response")
_SHOWN = 20  # items at the beginning by which the format is recognised
_OWN = ("input_text", "output_text", "input_image", "input_file")  # parts of messages
_CUT = ("failed", "incomplete", "cancelled")


def difference(document: Any) -> Difference | None:
    """Return in what a document is no conversation of the Responses API; None if it is one."""
    items = _beginning(document)
    is_answered = isinstance(document, dict) and document.get("object") == "response"
    bare = next(
        (i for i, one in enumerate(items or ()) if not (isinstance(one, dict) and {"type", "role"} & one.keys())), None
    )
    return first_difference(
        [
            (isinstance(document, dict | list), "it is no object and no list"),
            (items is not None, "it has no list `input` or `output`"),
            (bool(items) or is_answered, "it has no items"),
            (items is not None and bare is None, f"item {bare} has no `type` and no `role`"),
            (is_answered or any(_decides(one, document) for one in items or ()), "no item is of a known type"),
        ]
    )


def _decides(item: Any, document: Any) -> bool:
    """Return whether an item is of this format; a message in a bare list is, if it has parts of this API."""
    if not is_item(item):
        return False
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    kinds = [part.get("type") for part in parts if isinstance(part, dict)]
    return isinstance(document, dict) or item.get("type") not in (None, "message") or any(one in _OWN for one in kinds)


def _beginning(document: Any) -> list[Any] | None:
    """Return the first items of all lists of a document, None if it has none."""
    if isinstance(document, list):
        return document[:_SHOWN]
    if not isinstance(document, dict):
        return None
    bodies = [document, *(document[half] for half in _HALVES if isinstance(document.get(half), dict))]
    found = [body[name] for body in bodies for name in _LISTS if isinstance(body.get(name), list)]
    return [item for items in found for item in items[:_SHOWN]] if found else None


def read(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the conversation."""
    yield _conversation([document if isinstance(document, dict) else {"items": document}], new_reading())


def _conversation(chain: Sequence[Any], reading: Reading) -> Conversation:
    """Return the conversation of responses, each of which names the one before it."""
    transcript = Transcript()
    found: Conversation | None = None
    for place, response in enumerate(chain):
        with reading.object(response, "") as fields:
            if fields.take("previous_response_id") is not None and place == 0:
                reading.skipped[EARLIER] += 1
            items = ItemReader(
                transcript, at=fields.time("created_at") if fields.peek("object") == "response" else None
            )
            user = _read_bodies(fields, items)
            items.close()
            last = _described(fields, transcript)
            last.user = last.user or user
            found = found or last
            found.user = found.user or last.user
            if last.outcome is not None:
                found.outcome, found.reason = last.outcome, last.reason
    assert found is not None
    found.steps = transcript.steps
    return found


def _read_bodies(fields: Fields, items: ItemReader) -> str | None:
    """Read a request, then its response, which may be beside each other or one object; return the request's user."""

    def read_body(body: Fields) -> None:
        body.take("object")
        body.skip(EARLIER, "previous_response_id")
        _read_header(body)
        _read_lists(body, items, _LISTS)

    _read_header(fields)
    _read_lists(fields, items, ("input", "items"))
    user = read_half(fields, "request", read_body)
    read_half(fields, "response", read_body)
    _read_lists(fields, items, ("output",))
    return user


def _read_header(fields: Fields) -> None:
    fields.skip(PROMPTS, "instructions")
    status = fields.peek("status")
    if status in _CUT:
        fields.skip(f"ends of responses that are {status}", "status")
    elif status == "completed":
        fields.take("status")


def _read_lists(fields: Fields, items: ItemReader, lists: Sequence[str]) -> None:
    for name in lists:
        if name == "input" and fields.holds("input", str):
            items.say("user", fields.text("input") or "")
            continue
        for item in fields.objects(name):
            with item:
                items.read(item)


def _described(fields: Fields, transcript: Transcript) -> Conversation:
    """Return the conversation as one document describes it.

    The id of a response is that of a conversation only where it begins one: not where its input has earlier answers.
    """
    stated, sent = fields.peek("conversation"), fields.peek("input")
    is_response = fields.take("object") == "response"
    continues = isinstance(sent, list) and any(isinstance(one, dict) and one.get("role") != "user" for one in sent)
    id_: str | None = None
    if isinstance(stated, dict):
        inner = fields.object("conversation")
        assert inner is not None
        with inner:
            id_ = inner.id("id")
    elif stated is not None:
        id_ = fields.id("conversation")
    described = read_envelope(fields.without("id") if is_response and (continues or id_) else fields, transcript.steps)
    described.id = id_ or described.id
    return described


def _difference_of_lines(lines: Any) -> Difference | None:
    """Return in what the lines of a file are no responses that name the previous one."""
    shown = lines[:_SHOWN] if isinstance(lines, list) else []
    named = any(isinstance(line, dict) and line.get("previous_response_id") is not None for line in shown)
    if len(shown) < 2 or not named:
        return Difference(share=0.0, what="no line has a `previous_response_id`")
    return next((found for line in shown if (found := difference(line)) is not None), None)


def _read_lines(lines: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the conversations of responses in the order of their last ones."""
    responses, copies = _newest(lines)
    read = 0
    for chain in _chains(responses):
        read += len(chain)
        if read > MAX_READ:
            raise InvalidInput(
                f"its conversations share so many responses that more than {MAX_READ} would be read; split the file"
            )
        reading = new_reading()
        if copies:
            reading.skipped["earlier copies of a response"], copies = copies, 0
        yield _conversation(chain, reading)


def _newest(responses: Sequence[Any]) -> tuple[list[Any], int]:
    """Return the last copy of each response, such as the one that is complete, and the number of the others."""
    found: dict[Any, Any] = {}
    for place, response in enumerate(responses):
        id_ = _own_id(response) if isinstance(response, dict) else None
        found[place if id_ is None else id_] = response
    return list(found.values()), len(responses) - len(found)


def _chains(responses: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the responses that lead to each one which no other continues; of a circle, those from any one."""
    by_id = {_own_id(response): response for response in responses if isinstance(response, dict)}
    by_id.pop(None, None)
    continued = {_previous(response) for response in responses if isinstance(response, dict)}
    last = [one for one in responses if not isinstance(one, dict) or _own_id(one) not in continued - {None}]
    read: set[int] = set()
    for place, response in enumerate((*last, *responses)):
        if place >= len(last) and id(response) in read:
            continue
        chain, seen = [response], {id(response)}
        while isinstance(chain[-1], dict):
            previous = by_id.get(_previous(chain[-1]))
            if previous is None or id(previous) in seen:
                break
            seen.add(id(previous))
            chain.append(previous)
        read |= seen
        yield chain[::-1]


def _own_id(response: dict[str, Any]) -> str | None:
    inner = response.get("response")
    id_ = inner.get("id") if isinstance(inner, dict) and "id" in inner else response.get("id")
    return id_ if isinstance(id_, str) else None


def _previous(response: dict[str, Any]) -> str | None:
    request = response.get("request")
    found = response.get("previous_response_id")
    if found is None and isinstance(request, dict):
        found = request.get("previous_response_id")
    return found if isinstance(found, str) else None


RESPONSES = Format(
    name="OpenAI Responses",
    documented="Responses API, types of openai-python at 150c955",
    difference=difference,
    read=read,
    marks=("input", "output", "call_id", "role", "content"),
)
RESPONSES_LINES = one_a_line(RESPONSES)
RESPONSES_CHAIN = Format(
    name="OpenAI Responses that name the previous one",
    documented=RESPONSES.documented,
    difference=_difference_of_lines,
    read=_read_lines,
    marks=("output", "previous_response_id"),
    whole_file=True,
)
