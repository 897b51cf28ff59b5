"""What a memory of mem0 becomes: a statement about its user, or else its agent or its run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from stratagraph.memory.imports.fields import Fields
from stratagraph.memory.imports.memories.form import Named, Statement
from stratagraph.memory.imports.memories.values import scalar_tags

SYSTEM = "mem0"
_OWNERS = (("user", "Person"), ("agent", "Agent"), ("run", "Session"))  # the first that a memory has is its subject
_OWNER_FIELDS = [f"{kind}{ending}" for kind, _ in _OWNERS for ending in ("_id", "Id")]


def statement_of(
    id_: str,
    text: str,
    owners: Sequence[Named],
    tags: tuple[str, ...],
    *,
    at: datetime | None,
    changed: datetime | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
) -> Statement:
    """Return a memory as a statement about the first of its owners; about the system where it has none."""
    subject, *others = owners or [Named(name=SYSTEM, type="Service", id="service")]
    return Statement(
        id=f"memory:{id_}",
        subject=subject,
        predicate="memory",
        value=text,
        about=tuple(others),
        at=at,
        changed_at=changed,
        start=start,
        end=end,
        tags=tags,
    )


def owners_of(fields: Fields) -> tuple[list[Named], tuple[str, ...]]:
    """Return whose memory it is, and the tags that its fields become. Metadata may also say whose it is."""
    owners, tags = _named_owners(fields)
    for kind in ("actor", "app", "role"):
        id_ = fields.id("role" if kind == "role" else f"{kind}_id")
        tags += [f"{kind}:{id_}"] if id_ is not None else []
    tags += [one for one in fields.list("categories") if isinstance(one, str)]
    metadata = fields.take("metadata")
    if isinstance(metadata, dict):
        with fields.reading.object(metadata, fields.path("metadata")) as more:
            further, named = _named_owners(more)
            rest = {name: value for name, value in metadata.items() if name not in _OWNER_FIELDS}
            owners, tags = owners or further, [*tags, *named, *scalar_tags(more, rest)]
    elif isinstance(metadata, str):
        tags.append(metadata)
    return owners, tuple(dict.fromkeys(tags))


def _named_owners(fields: Fields) -> tuple[list[Named], list[str]]:
    owners = [
        Named(name=id_, type=type_, id=f"{kind}:{id_}")
        for kind, type_ in _OWNERS
        if (id_ := fields.id(f"{kind}_id", f"{kind}Id")) is not None
    ]
    return owners, [str(owner.id) for owner in owners]
