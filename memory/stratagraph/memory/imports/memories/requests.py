"""The captures that memories of other systems become, and what each is recognised by."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.capture.request import MAX_LABEL, MAX_TAGS, CaptureRequest, ImportedItem, Retention
from stratagraph.memory.imports.memories.form import Happening, Memory, Named, Remembered, Statement, Thing
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.predicates import fact_predicate
from stratagraph.store.model.visible_text import is_blank

MAX_ID = 160  # characters of an id that is shown in a source; a longer one is cut and ends in a hash
MAX_ABOUT = 64  # things that one memory names beside its subject
UNSAID = "unsaid"  # the field of an origin with the bounds that are a guess
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """Where memories come from: the system, the file, and how they are stored."""

    system: str
    file: str
    scope: str | None
    retention: Retention

    def key(self, memory: Memory, version: int) -> str:
        """Return the idempotency key of a version of a memory. Another scope has captures of its own."""
        parts = (self.scope or "", self.system, type(memory).__name__, memory.id, str(version))
        return "memories:" + hashlib.sha256("\x00".join(parts).encode()).hexdigest()

    def ref(self, id_: str) -> str:
        """Return the reference by which sources name a memory of the system."""
        plain = id_.replace("\x00", "\ufffd")
        if len(plain) > MAX_ID or is_blank(plain):
            plain = f"{plain[: MAX_ID - 40]}…{hashlib.sha256(id_.encode()).hexdigest()[:32]}"
        return f"{self.system}:{plain}"

    def request(
        self, memory: Remembered, version: int, *, replaces: Sequence[UUID] = (), artifacts: Sequence[str] = ()
    ) -> CaptureRequest:
        """Return the capture of a version of a memory, which takes the place of the facts `replaces`.

        `artifacts` are the URIs of its attachments.
        """
        about: tuple[Named, ...] = ()
        match memory:
            case Thing():
                kind, content = SourceKind.OBSERVATION, self._entity(memory)
            case Statement():
                kind, content = SourceKind.OBSERVATION, self._fact(memory)
                about = (memory.subject, *_things(memory.value), *memory.about)
            case Happening():
                kind = SourceKind.EVENT if memory.role is None else SourceKind.AGENT_TURN
                content, about = self._event(memory), memory.about
        mentions = [self._mention(named) for named in dict.fromkeys(about[:MAX_ABOUT])]
        context: dict[str, Any] = {"mentions": mentions} if mentions else {}
        context |= {"artifacts": list(artifacts)} if artifacts else {}
        return CaptureRequest(
            source=f"{self.system}:{self.file}"[:MAX_LABEL],
            source_kind=kind,
            content=content,
            context=context or None,
            proposed_type=MemoryType.ENTITY if isinstance(memory, Thing) else None,
            summary=_summary(memory),
            tags=kept_tags((self.system, *memory.tags)),
            scope=self.scope,
            timestamp=memory.at,
            idempotency_key=self.key(memory, version),
            retention=self.retention,
            imported=ImportedItem(fingerprint=fingerprint(memory), replaces=tuple(replaces)),
        )

    def _entity(self, thing: Thing) -> dict[str, Any]:
        named = thing.named
        content: dict[str, Any] = {"canonical_name": named.name, "origin": self._origin(thing)}
        if named.type:
            content["primary_type"] = named.type
        if thing.types:
            content["types"] = list(thing.types)
        if named.aliases:
            content["aliases"] = [{"value": alias} for alias in named.aliases]
        if named.id:
            content["identifiers"] = [{"namespace": self.system, "value": named.id}]
        if thing.summary and thing.summary.strip():
            content["summary"] = thing.summary
        return content

    def _fact(self, statement: Statement) -> dict[str, Any]:
        value = statement.value
        own = {"kind": "observation", "ref": self.ref(statement.id)}
        content: dict[str, Any] = {
            "subject": statement.subject.name,
            "predicate": statement.predicate,
            "object": value.name if isinstance(value, Named) else value,
            "evidence": [own, *({"kind": "event", "ref": self.ref(source)} for source in statement.sources)],
            "origin": self._origin(statement),
        }
        if isinstance(value, Named):
            content["object_type"] = value.type or "Other"
        if statement.start is not None or statement.end is not None:
            bounds = {"start": statement.start, "end": statement.end}
            content["validity"] = {
                "mode": "timeboxed",
                **{name: rfc3339(at) for name, at in bounds.items() if at is not None},
            }
        return content

    def _event(self, happening: Happening) -> dict[str, Any]:
        content: dict[str, Any] = {"ref": self.ref(happening.id), **happening.more}
        if happening.thread is not None:
            content["thread_id"] = happening.thread
        if happening.role is not None:
            return content | {"role": happening.role, "text": happening.text}
        return content | {"event_kind": happening.kind, "summary": happening.text}

    def _origin(self, memory: Memory) -> dict[str, Any]:
        """Return what the system says of the memory itself, which the payload keeps."""
        times = {"created_at": memory.at, "updated_at": memory.changed_at}
        unsaid = (
            [name for name in memory.unsaid if getattr(memory, name) is not None]
            if isinstance(memory, Statement)
            else []
        )
        return {
            "system": self.system,
            "id": memory.id if len(memory.id) <= MAX_ID else self.ref(memory.id).removeprefix(f"{self.system}:"),
            **{name: rfc3339(at) for name, at in times.items() if at is not None},
            **({UNSAID: unsaid} if unsaid else {}),
            **memory.more,
        }

    def _mention(self, named: Named) -> dict[str, Any]:
        mention: dict[str, Any] = {"name": named.name}
        if named.type:
            mention["type"] = named.type
        if named.id:
            mention["identifiers"] = [{"namespace": self.system, "value": named.id}]
        if named.aliases:
            mention["aliases"] = list(named.aliases)
        return mention


def fingerprint(memory: Remembered) -> str:
    """Return the hash of what a memory says, whatever its tags and times of writing are."""
    match memory:
        case Thing(named=named, types=types, summary=summary):
            said: list[Any] = [named.name, named.type, sorted(types), sorted(named.aliases), summary]
        case Statement():
            value = _identity(memory.value) if isinstance(memory.value, Named) else memory.value
            bounds = [at.timestamp() if at is not None else None for at in (memory.start, memory.end)]
            said = [_identity(memory.subject), memory.predicate, value, bounds, memory.text]
        case Happening():
            said = [memory.kind, memory.role, memory.text]
    try:
        return hashlib.sha256(orjson.dumps(said, option=_OPTIONS)).hexdigest()
    except TypeError:  # what cannot be stored is refused by the capture, which says why
        return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()


def said_by(memory: Remembered) -> Hashable:
    """Return what a statement says as a fact, to be compared with `said_in`; its id for other memories."""
    if not isinstance(memory, Statement):
        return memory.id
    value = memory.value.name if isinstance(memory.value, Named) else memory.value
    return _said(memory.subject.name, memory.predicate, value)


def said_in(payload: Mapping[str, Any]) -> Hashable:
    """Return what the payload of a fact says, whatever its validity is."""
    return _said(payload.get("subject"), payload.get("predicate"), payload.get("object"))


def _said(*said: Any) -> Hashable:
    try:
        subject, predicate, value = (normalised_name(one) if isinstance(one, str) else repr(one) for one in said)
        return subject, fact_predicate(predicate), value
    except ValueError:  # a predicate that the capture refuses
        return repr(said)


def changed_at(stored: dict[str, Any]) -> datetime | None:
    """Return when the memory that a stored payload came from was changed last, as far as its system said so."""
    origin = stored.get("origin")
    at = (origin.get("updated_at") or origin.get("created_at")) if isinstance(origin, dict) else None
    try:
        return datetime.fromisoformat(at) if isinstance(at, str) else None
    except ValueError:
        return None


def kept_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags that a capture can have: the first MAX_TAGS that are not blank and not too long."""
    plain = dict.fromkeys(tag.strip() for tag in tags)
    return tuple(tag for tag in plain if not is_blank(tag) and len(tag) <= MAX_LABEL and "\x00" not in tag)[:MAX_TAGS]


def _identity(named: Named) -> list[str]:
    return ["id", named.id] if named.id else ["name", named.name]


def _things(value: Any) -> tuple[Named, ...]:
    return (value,) if isinstance(value, Named) else ()


def _summary(memory: Remembered) -> str | None:
    """Return the sentence that says a fact, where its system gives one of a length that a summary may have."""
    text = memory.text if isinstance(memory, Statement) else None
    return text if text and text.strip() and len(text) <= 10_000 else None
