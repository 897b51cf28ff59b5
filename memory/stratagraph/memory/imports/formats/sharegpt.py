"""The ShareGPT form: `{conversations: [{from, value}]}`, or the list itself.

Calls are entries of their own (`function_call` and `observation`), or stand in the texts, as Hermes models write them.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

from stratagraph.memory.imports.conversation import Conversation
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.envelope import read_envelope
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference
from stratagraph.memory.imports.formats.parts import INSTRUCTING, PROMPTS, read_failure, result_text
from stratagraph.memory.imports.formats.transcript import Message, Transcript
from stratagraph.store.model.errors import InvalidInput

_LISTS = ("conversations", "conversation", "items")
_CALLING = ("function_call", "function-call", "tool_call")
_ANSWERING = ("observation", "tool", "function_response", "function-response", "tool_response", "ipython")
_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_RESULT = re.compile(r"<tool_response>\s*(.*?)\s*</tool_response>", re.DOTALL)
_SHOWN = 20  # entries at the beginning by which the format is recognised
MAX_LITERAL = 100_000  # characters of a call that is read as Python


def difference(document: Any) -> Difference | None:
    """Return in what a document is no conversation of the ShareGPT form; None if it is one."""
    entries = _entries(document)
    shown = (entries or [])[:_SHOWN]
    unnamed = next((i for i, one in enumerate(shown) if not (isinstance(one, dict) and "from" in one)), None)
    silent = next((i for i, one in enumerate(shown) if not (isinstance(one, dict) and "value" in one)), None)
    return first_difference(
        [
            (isinstance(document, dict | list), "it is no object and no list"),
            (
                entries is not None,
                "it has no list `conversations`; a conversation is {conversations: [{from, value}, …]}",
            ),
            (bool(shown), "conversations is empty"),
            (bool(shown) and unnamed is None, f"conversations.{unnamed} has no `from`"),
            (bool(shown) and silent is None, f"conversations.{silent} has no `value`"),
        ]
    )


def _entries(document: Any) -> list[Any] | None:
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return None
    return next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)


def read(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the conversation."""
    with new_reading().object(document if isinstance(document, dict) else {"conversations": document}, "") as fields:
        fields.skip(PROMPTS, "system")
        entries = _Entries()
        for name in _LISTS:
            for entry in fields.objects(name):
                with entry:
                    entries.read(entry)
        entries.close()
        yield read_envelope(fields, entries.transcript.steps)


class _Entries:
    """Reads the entries of one conversation. Close it after the last one.

    A call that is an entry of its own belongs to the entry of the assistant before it. A result names its tool, or
    answers the first call without one.
    """

    def __init__(self) -> None:
        self.transcript = Transcript()
        self._calling: Message | None = None
        self._waiting: deque[str] = deque()  # the tools without a result

    def read(self, entry: Fields) -> None:
        """Read one entry."""
        sender, path = entry.required_text("from"), entry.path("value")
        role = sender.casefold()
        value, at, name = entry.take("value"), entry.time("timestamp", "created_at"), entry.id("name")
        text = "" if value is None else result_text(value)
        if role in _CALLING:
            self._calling = self._calling or self.transcript.message("assistant", at=at)
            calls = _calls(text)
            if not calls:
                raise InvalidInput(f"{path}: is not a call; it must be JSON with `name` and `arguments`")
            self._add(calls)
            return
        self.close()
        if role in INSTRUCTING:
            entry.skip_all(PROMPTS)
            return
        message = self.transcript.message(sender, speaker=name, at=at)
        if role in _ANSWERING:
            failed = read_failure(entry)
            for result in _RESULT.findall(text) or [text]:
                self._answer(result, message, name, failed)
        elif message.role == "assistant":
            self._calling = message
            found = [_calls(call) for call in _CALL.findall(text)]
            is_calling = bool(found) and all(found)  # otherwise the text only speaks of calls
            message.say(_CALL.sub("", text).strip() if is_calling else text)
            for calls in found if is_calling else ():
                self._add(calls)
        else:
            message.say(text)
            message.close()

    def close(self) -> None:
        """Add what was said and called last to the steps."""
        if self._calling is not None:
            self._calling.close()
            self._calling = None

    def _add(self, calls: Sequence[tuple[str, Any]]) -> None:
        assert self._calling is not None
        for tool, arguments in calls:
            self._calling.call(tool, arguments)
            self._waiting.append(tool)

    def _answer(self, text: str, message: Message, tool: str | None, failed: bool | None) -> None:
        found = _value(text) if text.lstrip().startswith("{") else None
        if isinstance(found, dict) and found.keys() == {"name", "content"} and isinstance(found["name"], str):
            tool, text = found["name"], result_text(found["content"])
        if tool is not None and tool in self._waiting:
            self._waiting.remove(tool)
        elif tool is None and self._waiting:
            tool = self._waiting.popleft()
        message.result(text, tool=tool, failed=failed)


def _calls(text: str) -> Sequence[tuple[str, Any]]:
    """Return tool and arguments of the calls in a text: one, or a list of them; empty if it holds anything else."""
    found = _value(text)
    calls = []
    for call in found if isinstance(found, list) else [found]:
        inner = call.get("function") if isinstance(call, dict) and isinstance(call.get("function"), dict) else call
        name = inner.get("name") if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or not isinstance(name, str) or not name.strip():
            return ()
        calls.append((name, inner.get("arguments", inner.get("parameters"))))
    return calls


def _value(text: str) -> Any:
    """Return the JSON value that a text is, or the same as Python writes it; None for any other text."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that only Python minds
            found = ast.literal_eval(text.strip()) if len(text) <= MAX_LITERAL else None
        orjson.dumps(found)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return found


SHAREGPT = Format(
    name="ShareGPT",
    documented="LLaMA-Factory at 015ff25, Hermes function calling",
    difference=difference,
    read=read,
    marks=("conversations", "from", "value"),
)
