"""The entities, records and artifacts that a capture names (docs/specification.md, Capture). No I/O, no language model.

Entities are created only for what is certain: names listed in `context.mentions`, a fact's subject and short object,
tools, URLs, e-mail addresses and file paths. Capitalised words are looked up, but no entity is created for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from stratagraph.memory.capture.draft import Draft, Named, NamedArtifact, Reference
from stratagraph.store.artifacts.objects import hash_in
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import invalid
from stratagraph.store.model.payloads.base import Name, Part
from stratagraph.store.model.payloads.entity import Alias, Identifier
from stratagraph.store.model.predicates import check_predicate

MAX_MENTIONS = 256  # listed by the caller
MAX_ARTIFACTS = 256  # named by one capture
MAX_FOUND = 12  # names of each kind found in the text
OBJECT_NAME_LENGTH = 60  # characters; a longer object is taken for a statement, not a name
SCANNED_CHARACTERS = 20_000  # of the text, searched for names

_URL = re.compile(r"\bhttps?://[^\s<>\"')\]}]{3,200}")
_EMAIL = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+\b")
_PATH = re.compile(r"(?<![\w/:.@])(?:\.{0,2}/)?(?:[\w.-]+/)+[\w-]+\.[A-Za-z]\w{0,7}\b")
_NAME = re.compile(r"\b[A-Z][\w'&-]*(?:\s+(?:of|the|and)?\s?[A-Z][\w'&-]*){0,3}")
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b")
_ROLES = frozenset({"user", "assistant", "system", "tool", "agent", "human", "ai"})


class _Mention(Part):
    name: Name
    type: str | None = None
    identifiers: list[Identifier] | None = None
    aliases: list[str | Alias] | None = None


class _Pointer(Part):
    ref: Name
    predicate: str | None = None


def interpret(draft: Draft) -> None:
    """Set the draft's `named`, `references`, `artifacts` and `labels` from its context, content and text.

    Raises InvalidInput for a malformed `context`.
    """
    context = draft.request.context or {}
    named = _names_of_fact(draft.payload) if draft.type is MemoryType.SEMANTIC else []
    named += _mentions(context)
    named += [
        Named(name=node["tool"], predicate="uses", weight=0.3, type="Tool", identifiers=(("tool", node["tool"]),))
        for node in draft.payload.get("tool_graph") or ()
    ]
    if draft.type is not MemoryType.ENTITY:
        named += _names_in_text(draft)
    draft.named = list({item.name.casefold(): item for item in reversed(named)}.values())[::-1]
    draft.references = _references(draft, context)
    draft.artifacts = _artifacts(draft, context)
    labels = context.get("labels") or []
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InvalidInput('context.labels: must be a list of strings, such as ["billing"]', path=["context", "labels"])
    draft.labels = labels[:MAX_FOUND]


def _mentions(context: dict[str, Any]) -> list[Named]:
    mentions = context.get("mentions") or []
    if not isinstance(mentions, list) or len(mentions) > MAX_MENTIONS:
        raise InvalidInput(
            f"context.mentions: must be a list of at most {MAX_MENTIONS} names or"
            f" {{name, type?, identifiers?, aliases?}}, not {_size(mentions)}",
            path=["context", "mentions"],
        )
    found = []
    for index, item in enumerate(mentions):
        try:
            mention = _Mention.model_validate({"name": item} if isinstance(item, str) else item)
        except ValidationError as error:
            raise invalid(error, ["context", "mentions", str(index)]) from error
        found.append(
            Named(
                name=mention.name,
                predicate="mentions_entity",
                weight=0.9,
                type=mention.type,
                identifiers=tuple((entry.namespace, entry.value) for entry in mention.identifiers or ()),
                aliases=tuple(alias if isinstance(alias, str) else alias.value for alias in mention.aliases or ()),
            )
        )
    return found


def _size(value: object) -> str:
    return f"{len(value)} entries" if isinstance(value, list) else json_type(value)


def _names_of_fact(payload: dict[str, Any]) -> list[Named]:
    named = [Named(name=payload["subject"], predicate="subject_entity", weight=1.0)]
    value = payload["object"]
    if isinstance(value, str) and 0 < len(value.strip()) <= OBJECT_NAME_LENGTH and "\n" not in value:
        named.append(Named(name=value, predicate="object_entity", weight=0.9))
    return named


def _names_in_text(draft: Draft) -> list[Named]:
    text = draft.text[:SCANNED_CHARACTERS]
    role = draft.request.content.get("role") if draft.request.source_kind is SourceKind.AGENT_TURN else None
    named = []
    if isinstance(role, str) and role.casefold() not in _ROLES:
        named.append(Named(name=role, predicate="mentions_entity", weight=0.6, type="Person"))
    for pattern, entity_type, namespace in ((_URL, "URL", "url"), (_EMAIL, "Person", "email"), (_PATH, "File", "path")):
        for value in list(dict.fromkeys(pattern.findall(text)))[:MAX_FOUND]:
            clean = value.rstrip(".,;:!?")
            named.append(
                Named(
                    name=clean,
                    predicate="mentions_entity",
                    weight=0.7,
                    type=entity_type,
                    identifiers=((namespace, clean),),
                )
            )
    guesses = list(dict.fromkeys(part for name in _NAME.findall(text) for part in (name, *name.split())))
    named += [
        Named(name=name, predicate="mentions_entity", weight=0.7, known_only=True)
        for name in guesses[: 3 * MAX_FOUND]
        if len(name) > 2
    ]
    return named


def _references(draft: Draft, context: dict[str, Any]) -> list[Reference]:
    listed = context.get("references") or []
    if not isinstance(listed, list) or len(listed) > MAX_MENTIONS:
        raise InvalidInput(
            f"context.references: must be a list of at most {MAX_MENTIONS} refs, record ids or {{ref, predicate}}, not"
            f" {_size(listed)}",
            path=["context", "references"],
        )
    found = []
    for index, item in enumerate(listed):
        path = ["context", "references", str(index)]
        try:
            pointer = _Pointer.model_validate({"ref": item} if isinstance(item, str) else item)
        except ValidationError as error:
            raise invalid(error, path) from error
        predicate = check_predicate(pointer.predicate or "references_record", path=[*path, "predicate"])
        found.append(Reference(target=reference_target(pointer.ref), predicate=predicate))
    for evidence in draft.payload.get("evidence") or ():
        ref = evidence.get("source_id", evidence.get("ref"))
        if isinstance(ref, str) and ref:
            found.append(Reference(target=reference_target(ref), predicate="derived_from"))
    found += [
        Reference(target=UUID(value))
        for value in list(dict.fromkeys(_UUID.findall(draft.text[:SCANNED_CHARACTERS])))[:MAX_FOUND]
    ]
    return list({reference.target: reference for reference in reversed(found)}.values())[::-1]


def reference_target(ref: str) -> UUID | str:
    """Return the record id that `ref` is, or `ref` itself where it is the ref of a capture."""
    return UUID(ref) if _UUID.fullmatch(ref) else ref


def _artifacts(draft: Draft, context: dict[str, Any]) -> list[NamedArtifact]:
    """Return the artifacts named in the places that may name one. A string of another form there is ignored."""
    listed = context.get("artifacts") or []
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise InvalidInput(
            "context.artifacts: must be a list of strings, each the sha256:… URI of an artifact",
            path=["context", "artifacts"],
        )
    found: dict[bytes, NamedArtifact] = {}
    for value, path in _artifact_strings(draft, listed):
        digest = hash_in(value) if isinstance(value, str) else None
        if digest is not None:
            found.setdefault(digest, NamedArtifact(sha256=digest, path=path))
    named = list(found.values())
    if len(named) > MAX_ARTIFACTS:
        path = named[MAX_ARTIFACTS].path
        raise InvalidInput(
            f"{'.'.join(path)}: the capture names {len(named)} artifacts, and may name at most {MAX_ARTIFACTS};"
            " split it",
            path=path,
        )
    return named


def _artifact_strings(draft: Draft, listed: list[str]) -> Iterator[tuple[object, tuple[str, ...]]]:
    artifacts = draft.request.content.get("artifacts")
    for index, value in enumerate(artifacts if isinstance(artifacts, list) else ()):
        yield value, ("content", "artifacts", str(index))
    for index, evidence in enumerate(draft.payload.get("evidence") or ()):
        if not isinstance(evidence, dict):
            continue
        is_artifact = "artifact" in (evidence.get("kind"), evidence.get("source_type"))
        for key in ("hash", "ref", "source_id") if is_artifact else ("hash",):
            yield evidence.get(key), ("content", "evidence", str(index), key)
    for index, value in enumerate(listed):
        yield value, ("context", "artifacts", str(index))
