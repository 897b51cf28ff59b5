"""The samples of recorded conversations in tests/data/traces, as they are read, and with mutations."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from checkout import ROOT

from stratagraph.memory.imports.conversation import Attachment, Called, Conversation, Returned, Said, Step
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.trace_captures import captures_of
from stratagraph.memory.imports.trace_files import Document, find_files, read_documents
from stratagraph.store.model.errors import InvalidInput

FOLDER = ROOT / "tests" / "data" / "traces"
SAMPLES = find_files([FOLDER])
_WRONG: tuple[Any, ...] = (None, True, 3, -1.5, "x", "", "2026-13-40", [], {}, [[]], [None], {"a": 1}, ["x"], 10**30)


@dataclass(slots=True, kw_only=True)
class ReadFile:
    """What is read of a file: its conversations, why parts of it are refused, and whether its end is missing."""

    conversations: list[Conversation]
    refused: list[str]
    is_cut: bool = False
    is_whole: bool = False

    @property
    def counts(self) -> Counter[str]:
        """What is left out of the conversations, by reason or by path."""
        return sum((one.skipped + one.unread for one in self.conversations), Counter())

    @property
    def text(self) -> str:
        """What all steps hold."""
        return "\n".join(line for one in self.conversations for step in one.steps for line in step_lines(step))


def read_file(path: Path) -> ReadFile:
    """Read a file as an import does. Raises no error but InvalidInput, which is a refusal of the file."""
    found = ReadFile(conversations=[], refused=[])
    try:
        for document in read_documents(path):
            if not isinstance(document, Document):
                found.refused.append(document.reason)
                continue
            found.is_cut |= document.is_cut
            found.is_whole |= document.format.whole_file
            try:
                conversations = list(document.format.read(document.value, Reading))
                for one in conversations:
                    captures_of(one)
            except InvalidInput as error:
                found.refused.append(error.message)
            else:
                found.conversations += conversations
    except InvalidInput as error:
        found.refused.append(error.message)
    return found


def step_lines(step: Step) -> list[str]:
    """Return a step as one line, and one line for each attachment."""
    match step:
        case Said():
            name = f" ({step.speaker})" if step.speaker is not None else ""
            line = f"{step.role}{name}: {json.dumps(step.text, ensure_ascii=False)}"
        case Called():
            line = f"  call {step.tool} {json.dumps(step.arguments, sort_keys=True, ensure_ascii=False)}"
        case Returned():
            how = {None: "", True: " failed", False: " succeeded"}[step.failed]
            line = f"  result{how} {json.dumps(step.text, ensure_ascii=False)}"
    attachments = () if isinstance(step, Called) else step.attachments
    return [line, *(_attachment_line(one) for one in attachments)]


def _attachment_line(one: Attachment) -> str:
    what = one.uri if one.data is None else f"{len(one.data)} bytes"
    return f"    attached {one.name or '-'} {one.media_type or '-'} {what}"


def documents_of(path: Path) -> tuple[list[Any], bool]:
    """Return the JSON values of a sample, and whether they are its lines."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    if ".jsonl" in path.name:
        return [json.loads(line) for line in text.splitlines() if line.strip()], True
    return [json.loads(text)], False


def write_documents(path: Path, documents: list[Any], *, lines: bool) -> None:
    """Write the values as lines, or the only one as a document."""
    path.write_text("".join(json.dumps(one) + "\n" for one in documents) if lines else json.dumps(documents[0]))


def mutated(documents: list[Any], random: Random) -> tuple[list[Any], list[str]]:
    """Return the values with one mutation: a field that is dropped, renamed, wrongly typed, nested, or moved.

    Return also the strings below it which are still there, but have another path.
    """
    changed = copy.deepcopy(documents)
    places = [place for one in changed for place in _places(one)]
    holder, key = random.choice(places)
    moved: list[str] = []
    kind = random.choice(("drop", "rename", "retype", "reorder", "repeat", "nest"))
    if kind == "drop":
        del holder[key]
    elif kind == "rename" and isinstance(holder, dict):
        moved = list(_strings(holder[key]))
        holder[random.choice((f"{key}_x", key.upper(), "renamed"))] = holder.pop(key)
    elif kind == "reorder" and isinstance(holder, list):
        random.shuffle(holder)
    elif kind == "repeat" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif kind == "nest":
        depth = random.choice((1, 3, 300))
        for _ in range(depth):
            holder[key] = [holder[key]]
    else:
        holder[key] = copy.deepcopy(random.choice(_WRONG))
    return changed, moved


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(one)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else ():
        yield value, key
        yield from _places(value[key])
