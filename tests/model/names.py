"""How a name in a capture is resolved to an entity (docs/specification.md, Entities): never by a guess."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from stratagraph.store.model.entity_kinds import KIND_OF

UNSCOPED = ""
APART: list[set[str]] = [
    *({"person", one} for one in ("organization", "geography", "place", "work")),
    *({"geography", one} for one in ("organization", "work")),
]
NO_TYPE = (None, "", "other")

Identifier = tuple[str, str]  # namespace and value, both folded


WRITTEN = {
    "'": "`ʹʻʼʽʾʿ՚׳‘’‚‛′‵‹›Ꞌꞌ",
    '"': "«»ʺˮ״“”„‟〝〞〟",
    "-": "֊־᐀᠆‐‑‒–—―⁃−⸗⸺⸻⹀゠",
}  # the signs that people write in different ways, by the one that they are compared as
INVISIBLE = (
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    *range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE1000),
)  # fmt: skip
_PLAIN = dict.fromkeys(map(chr, INVISIBLE), "") | {other: sign for sign, others in WRITTEN.items() for other in others}


def fold_name(name: str) -> str:
    """Return the name without case, accents, additional white space, and differences between signs (`WRITTEN`).

    An underscore between two letters or digits is a space. A name in which nothing is visible is compared as it is.
    """
    plain = "".join(_PLAIN.get(one, one) for one in unicodedata.normalize("NFKC", name))
    plain = unicodedata.normalize("NFKC", plain)
    for mark in "\u0301\u0313\u0314":  # an accent that stands alone, typed as an apostrophe
        plain = plain.replace(f" {mark}", "'")
    return _without_accents(_spaced(plain)) or _without_accents(name)


def _spaced(name: str) -> str:
    at = {
        place
        for place in range(1, len(name) - 1)
        if name[place] == "_"
        and (name[place - 1].isalnum() or unicodedata.category(name[place - 1]).startswith("M"))
        and name[place + 1].isalnum()
    }
    return "".join(" " if place in at else letter for place, letter in enumerate(name))


def _without_accents(name: str) -> str:
    letters: list[str] = []
    for letter in unicodedata.normalize("NFD", unicodedata.normalize("NFKC", name)):
        script = unicodedata.name(letters[-1], "").partition(" ")[0] if letters else ""
        if unicodedata.combining(letter) and script in ("LATIN", "GREEK"):
            continue
        letters.append(letter)
    return " ".join(unicodedata.normalize("NFC", "".join(letters)).casefold().split())


def fold_identifier(namespace: str, value: str) -> Identifier:
    namespace, value = namespace.casefold(), unicodedata.normalize("NFKC", value).strip()
    return namespace, value.casefold() if namespace == "email" else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A name in a capture of a scope and a sensitivity. With `known_only`, it makes no entity and teaches nothing.

    With `states_type`, its type is no hint: what has other types is something else.
    """

    name: str
    scope: str
    sensitivity: int
    type: str | None = None
    aliases: tuple[str, ...] = ()
    identifiers: tuple[tuple[str, str], ...] = ()
    known_only: bool = False
    states_type: bool = False

    @property
    def key(self) -> str:
        return fold_name(self.name)

    @property
    def declared_type(self) -> str | None:
        return None if self.type is None or self.type.casefold() in NO_TYPE else self.type.casefold()

    @property
    def folded_identifiers(self) -> set[Identifier]:
        return {fold_identifier(namespace, value) for namespace, value in self.identifiers}

    def sees(self, scope: str, sensitivity: int) -> bool:
        return scope in (self.scope, UNSCOPED) and sensitivity <= self.sensitivity


@dataclass(slots=True)
class Lesson:
    """What one capture taught about an entity, at that capture's scope and sensitivity."""

    scope: str
    sensitivity: int
    names: set[str] = field(default_factory=set)
    identifiers: set[Identifier] = field(default_factory=set)
    types: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Known:
    """An entity as resolving sees it: where it is, and the lessons about it."""

    id: UUID
    scope: str
    sensitivity: int
    lessons: list[Lesson] = field(default_factory=list)
    canonical: str = ""  # its own name, folded

    def seen_by(self, mention: Mention) -> Lesson:
        """Return all that a mention may know of the entity."""
        seen = Lesson(self.scope, self.sensitivity)
        for lesson in self.lessons:
            if mention.sees(lesson.scope, lesson.sensitivity):
                seen.names |= lesson.names
                seen.identifiers |= lesson.identifiers
                seen.types |= lesson.types
        return seen


@dataclass(frozen=True, slots=True)
class Resolved:
    """The entity that a mention names, or the candidates that it does not decide between, or neither.

    `by` is the step that decided: 1 identifier, 2 name.
    """

    entity: UUID | None = None
    candidates: tuple[UUID, ...] = ()
    by: int = 0

    @property
    def is_ambiguous(self) -> bool:
        return bool(self.candidates)


def resolve(mention: Mention, entities: Iterable[Known]) -> Resolved:
    """Resolve a mention among the current entities."""
    visible = {one.id: one for one in entities if mention.sees(one.scope, one.sensitivity)}
    seen = {id_: one.seen_by(mention) for id_, one in visible.items()}
    steps: tuple[Callable[[Lesson], Collection[object]], ...] = (
        lambda known: known.identifiers & mention.folded_identifiers,
        lambda known: known.names & {mention.key},
    )
    for number, matches in enumerate(steps, start=1):
        found = [id_ for id_, known in seen.items() if matches(known)]
        fit = [id_ for id_ in found if not _contradicts(mention, seen[id_]) and not _excludes(mention, seen[id_])]
        if found and not fit and number == 1:
            return Resolved(candidates=tuple(sorted(found)))
        if fit:
            rank = {id_: _rank(mention, visible[id_]) for id_ in fit}
            if number > 1:  # hints decide between names only
                owner = min((id_ for id_ in fit if visible[id_].canonical == mention.key), default=None)
                rank = {id_: (*rank[id_], *_hints(mention, visible[id_], seen[id_], owner)) for id_ in fit}
            best = max(rank.values())
            first = sorted(id_ for id_ in fit if rank[id_] == best)
            return Resolved(first[0], by=number) if len(first) == 1 else Resolved(candidates=tuple(first))
    return Resolved()


def _contradicts(mention: Mention, known: Lesson) -> bool:
    """Whether both have identifiers of one namespace, and no value of that namespace in common."""
    ours, theirs = mention.folded_identifiers, known.identifiers
    shared = {namespace for namespace, _ in ours} & {namespace for namespace, _ in theirs}
    equal = {namespace for namespace, _ in ours & theirs}
    return bool(shared - equal)


def _excludes(mention: Mention, known: Lesson) -> bool:
    """Whether both have types that tell a kind, no type of both is equal, and every two of their kinds are apart.

    A stated type excludes all others.
    """
    if mention.declared_type is None or mention.declared_type in known.types:
        return False
    if mention.states_type:
        return bool(known.types)
    ours, theirs = KIND_OF.get(mention.declared_type), {KIND_OF[one] for one in known.types if one in KIND_OF}
    return ours is not None and bool(theirs) and all({ours, one} in APART for one in theirs)


def _rank(mention: Mention, entity: Known) -> tuple[bool, ...]:
    return entity.scope == mention.scope, *(entity.sensitivity >= level for level in range(1, 8))


def _hints(mention: Mention, entity: Known, known: Lesson, owner: UUID | None) -> tuple[bool, bool]:
    """Whether it is not younger than the `owner` of the name without owning it, and whether it has no other type."""
    fits = mention.declared_type is None or not known.types or mention.declared_type in known.types
    return entity.canonical == mention.key or owner is None or entity.id < owner, fits
