"""The names, records and artifacts that a capture mentions (docs/specification.md, Capture). No I/O, no language model.

Which names become entities is decided when they are resolved (see `naming`): those listed in `context.mentions`, a
fact's subject, tools, URLs, e-mail addresses and file paths do. A fact's object does if the caller or the registry of
predicates says so. Capitalised words of the text are only looked up.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from stratagraph.memory.capture.draft import Draft, Named, NamedArtifact, Reference
from stratagraph.memory.capture.found_names import address_of, names_in_text
from stratagraph.memory.capture.literals import is_sentence, is_value
from stratagraph.memory.capture.procedures import names_of_procedure
from stratagraph.memory.requests.contents import MAX_LISTED, MAX_TERMS, Mention
from stratagraph.memory.requests.contents import Reference as ReferenceForm
from stratagraph.memory.requests.evidence import names_record, reference_of
from stratagraph.store.artifacts.objects import hash_in
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import invalid
from stratagraph.store.model.payloads.base import MAX_NAME
from stratagraph.store.model.predicates import reference_predicate
from stratagraph.store.model.visible_text import is_blank

MAX_MENTIONS = MAX_LISTED
MAX_NAMES = 512  # names, aliases and identifiers of all entries of one capture
MAX_ARTIFACTS = 256  # named by one capture
MAX_LABELS = 12  # labels kept of one capture
MAX_RECORD_IDS = 12  # record ids found in the text
SCANNED_CHARACTERS = 20_000  # of the text, searched for names

_UUID = re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b")


def interpret(draft: Draft) -> None:
    """Set the draft's `named`, `references`, `artifacts` and `labels` from its context, content and text.

    Raises InvalidInput for a malformed `context`.
    """
    context = draft.request.context or {}
    mentions = _mentions(context)
    named = _names_of_fact(draft, mentions) if draft.type is MemoryType.SEMANTIC else []
    named += names_of_procedure(draft.payload, draft.type)
    named += [
        Named(name=tool, predicate="uses", weight=0.3, type="Tool", identifiers=(("tool", tool),))
        for tool in draft.called_tools
    ]
    if draft.type is not MemoryType.ENTITY:
        named += names_in_text(draft.text[:SCANNED_CHARACTERS], role=_speaker(draft))
    draft.named = _united(mentions, named)
    draft.references = _references(draft, context)
    draft.artifacts = _artifacts(draft, context)
    labels = _listed(context, "labels")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InvalidInput('context.labels: must be a list of strings, such as ["billing"]', path=["context", "labels"])
    draft.labels = labels[:MAX_LABELS]


def _listed(context: dict[str, Any], key: str) -> Any:
    value = context.get(key)
    return [] if value is None else value


def _mentions(context: dict[str, Any]) -> list[Named]:
    mentions = _listed(context, "mentions")
    if not isinstance(mentions, list) or len(mentions) > MAX_MENTIONS:
        raise InvalidInput(
            f"context.mentions: must be a list of at most {MAX_MENTIONS} names or"
            f" {{name, type?, identifiers?, aliases?}}, not {_size(mentions)}",
            path=["context", "mentions"],
        )
    found = []
    names = 0
    for index, item in enumerate(mentions):
        try:
            mention = Mention.model_validate({"name": item} if isinstance(item, str) else item)
        except ValidationError as error:
            raise invalid(error, ["context", "mentions", str(index)]) from error
        listed = (len(mention.aliases or ()), len(mention.identifiers or ()))
        names += 1 + sum(listed)
        if max(listed) > MAX_TERMS or names > MAX_NAMES:
            raise InvalidInput(
                f"context.mentions.{index}: an entry may have up to {MAX_TERMS} aliases and {MAX_TERMS} identifiers,"
                f" and all entries together up to {MAX_NAMES} names, aliases and identifiers; send several captures",
                path=["context", "mentions", str(index)],
            )
        found.append(
            Named(
                name=mention.name,
                predicate="mentions_entity",
                weight=0.9,
                type=mention.type,
                identifiers=(
                    *((entry.namespace, entry.value) for entry in mention.identifiers or ()),
                    *(address_of(mention.name) if not mention.identifiers else ()),
                ),
                aliases=tuple(alias if isinstance(alias, str) else alias.value for alias in mention.aliases or ()),
                is_declared=True,
            )
        )
    return found


def _size(value: object) -> str:
    return f"{len(value)} entries" if isinstance(value, list) else json_type(value)


def _names_of_fact(draft: Draft, mentions: Sequence[Named]) -> list[Named]:
    """Return the subject and the object of a fact, unless their form is that of a value or of a sentence."""
    payload = draft.payload
    listed = {normalised_name(mention.name) for mention in mentions}
    named = []
    if _may_be_name(payload["subject"], listed):
        named.append(
            Named(
                name=payload["subject"].strip(),
                predicate="subject_entity",
                weight=1.0,
                identifiers=address_of(payload["subject"]),
            )
        )
    value, declared = payload["object"], payload.get("object_type")
    if declared is not None and (not isinstance(declared, str) or is_blank(declared)):
        raise InvalidInput(
            f"content.object_type: must be the type of an entity, such as Person, not blank, not {shown(declared)}",
            path=["content", "object_type"],
        )
    if isinstance(declared, str) and len(declared) > MAX_NAME:
        raise InvalidInput(
            f"content.object_type: has {len(declared)} characters, and the type of an entity at most {MAX_NAME};"
            " shorten it",
            path=["content", "object_type"],
        )
    if declared is not None and isinstance(value, str) and len(value) > MAX_NAME:
        raise InvalidInput(
            f"content.object: has {len(value)} characters, and the name of an entity at most {MAX_NAME}; leave"
            " object_type out, or give a shorter name",
            path=["content", "object"],
        )
    if declared is not None and (not isinstance(value, str) or is_blank(value)):
        raise InvalidInput(
            f"content.object_type: the object is {json_type(value)}, which cannot name an entity; leave object_type"
            " out, or give the entity's name as the object",
            path=["content", "object_type"],
        )
    if isinstance(value, str) and (declared is not None or _may_be_name(value, listed)):
        named.append(
            Named(
                name=value.strip(),
                predicate="object_entity",
                weight=0.9,
                type=declared,
                identifiers=address_of(value),
                is_declared=declared is not None,
                known_only=declared is None,
            )
        )
    return named


def _may_be_name(text: str, listed: Collection[str]) -> bool:
    """Return whether a text may name an entity: it is in `context.mentions`, or is neither a value nor a sentence."""
    if len(text) > MAX_NAME:
        return False
    return normalised_name(text) in listed or not (is_blank(text) or is_value(text) or is_sentence(text))


def _speaker(draft: Draft) -> str | None:
    """Return the speaker of an agent's turn, or else its role; None for any other capture."""
    if draft.request.source_kind is not SourceKind.AGENT_TURN:
        return None
    speaker = draft.request.content.get("speaker") or draft.request.content.get("role")
    return speaker if isinstance(speaker, str) else None


def _united(mentions: Sequence[Named], others: Sequence[Named]) -> list[Named]:
    """Return all names, each once, in the order in which they are resolved.

    What one entry of `context.mentions` says of a name goes for the same name elsewhere in the capture, so that it
    decides which entity is meant. If several entries have the same name, they are resolved before it.
    """
    by_name: dict[str, list[Named]] = {}
    for mention in dict.fromkeys(mentions):
        by_name.setdefault(normalised_name(mention.name), []).append(mention)
    named: dict[tuple[str, str], Named] = {}
    for one in others:
        name = normalised_name(one.name)
        said = by_name.get(name, [])
        if one.predicate != "mentions_entity":
            named[name, one.predicate] = _declared(one, said[0]) if len(said) == 1 else one
        elif not said:
            named.setdefault((name, one.predicate), one)
    linked = {name for name, predicate in named if predicate != "mentions_entity"}
    first = [one for name, said in by_name.items() if len(said) > 1 or name not in linked for one in said]
    return [
        *first,
        *(one for (name, predicate), one in named.items() if predicate != "mentions_entity" or name not in linked),
    ]


def _declared(one: Named, mention: Named) -> Named:
    """Return a name with what an entry of `context.mentions` says of the same name."""
    return replace(
        one,
        type=mention.type or one.type,  # the entry decides, also over content.object_type
        identifiers=tuple(dict.fromkeys([*one.identifiers, *mention.identifiers])),
        aliases=mention.aliases,
        is_declared=True,
        known_only=False,
    )


def _references(draft: Draft, context: dict[str, Any]) -> list[Reference]:
    listed = _listed(context, "references")
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
            pointer = ReferenceForm.model_validate({"ref": item} if isinstance(item, str) else item)
        except ValidationError as error:
            raise invalid(error, path) from error
        predicate = reference_predicate(pointer.predicate or "references_record", path=[*path, "predicate"])
        found.append(Reference(target=reference_target(pointer.ref), predicate=predicate, path=tuple(path)))
    if draft.request.imported is not None:
        found += [Reference(target=ref, predicate="follows") for ref in draft.request.imported.follows]
        found += [Reference(target=ref, predicate="followed_by") for ref in draft.request.imported.followed_by]
    for within, given in (("content", draft.payload.get("evidence") or ()), ("", draft.evidence)):
        for index, evidence in enumerate(given):
            ref = reference_of(evidence)
            if ref is not None:
                named = tuple(filter(None, (within, "evidence", str(index)))) if names_record(evidence) else ()
                found.append(Reference(target=reference_target(ref), predicate="derived_from", path=named))
    found += [
        Reference(target=UUID(value))
        for value in list(dict.fromkeys(_UUID.findall(draft.text[:SCANNED_CHARACTERS])))[:MAX_RECORD_IDS]
    ]
    return list({reference.target: reference for reference in reversed(found)}.values())[::-1]


def reference_target(ref: str) -> UUID | str:
    """Return the record id that `ref` is, or `ref` itself where it is the ref of a capture."""
    return UUID(ref) if _UUID.fullmatch(ref) else ref


def _artifacts(draft: Draft, context: dict[str, Any]) -> list[NamedArtifact]:
    """Return the artifacts named in the places that may name one. A string of another form there is ignored."""
    listed = _listed(context, "artifacts")
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
