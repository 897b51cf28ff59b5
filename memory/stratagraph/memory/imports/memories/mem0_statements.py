"""What a memory of mem0 becomes: a statement about its user, or else its agent or its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from stratagraph.memory.imports.fields import Fields
from stratagraph.memory.imports.memories.form import Named, Statement
from stratagraph.memory.imports.memories.owners import OWNERS
from stratagraph.memory.imports.memories.values import scalar_tags, time_of
from stratagraph.store.model.payloads.semantic import NOTE

SYSTEM = "mem0"
_OWNERS = (("user", "Person"), ("agent", "Agent"), ("run", "Session"))  # the first that a memory has is its subject
_OWNER_FIELDS = [f"{kind}{ending}" for kind, _ in _OWNERS for ending in ("_id", "Id")]
_TEXTS = ("memory", "data", "text")
_AT_ONCE = timedelta(seconds=1)  # a time of change that is no later than this is that of the creation


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A memory as it was when the file was written."""

    id: str | None
    text: str
    at: datetime | None
    changed: datetime | None
    end: datetime | None
    owners: Sequence[Named]
    tags: tuple[str, ...]

    @property
    def start(self) -> datetime | None:
        """Return since when it has had this text at the latest; None if it may always have had it."""
        if self.at is None or self.changed is None or self.changed - self.at <= _AT_ONCE:
            return None
        return self.changed if self.end is None or self.changed < self.end else None


def read_present(fields: Fields) -> Present:
    """Return a memory of `get_all`. Raises InvalidInput if it is malformed."""
    id_ = fields.id("id")
    text = fields.required_text(*_TEXTS)
    at, changed = fields.time("created_at", "createdAt"), fields.time("updated_at", "updatedAt")
    owners, tags = owners_of(fields)
    end = time_of(fields.take("expiration_date"), fields.path("expiration_date"), fields.reading.zone)
    return Present(id=id_, text=text, at=at, changed=changed, end=end, owners=owners, tags=tags)


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
    unsaid: tuple[str, ...] = (),
) -> Statement:
    """Return a memory as a statement about the first of its owners; about the system where none is known."""
    subject, *others = owners or [Named(name=SYSTEM, type="Service", id="service")]
    return Statement(
        id=f"memory:{id_}",
        subject=subject,
        predicate=NOTE,
        value=text,
        about=tuple(others),
        at=at,
        changed_at=changed,
        start=start,
        end=end,
        tags=tags,
        more={OWNERS: [owner.id for owner in owners]} if owners else {},
        whose=None if owners else f"memory:{id_}",
        unsaid=unsaid,
    )


def named_owner(id_: str) -> Named:
    """Return an owner by its id, such as `user:ann`."""
    kind, _, name = id_.partition(":")
    return Named(name=name, type=dict(_OWNERS).get(kind), id=id_)


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
    ids = [f"{kind}:{id_}" for kind, _ in _OWNERS if (id_ := fields.id(f"{kind}_id", f"{kind}Id")) is not None]
    return [named_owner(id_) for id_ in ids], ids
