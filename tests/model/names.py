"""How a name in a capture is resolved to an entity (docs/specification.md, Entities): never by a guess."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from uuid import UUID

UNSCOPED = ""
NO_TYPE = (None, "", "other")

Identifier = tuple[str, str]  # namespace and value, both folded


def fold_name(name: str) -> str:
    """Return the name without case, accents and additional white space."""
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
    """A name in a capture of a scope and a sensitivity. With `known_only`, it makes no entity and teaches nothing."""

    name: str
    scope: str
    sensitivity: int
    type: str | None = None
    aliases: tuple[str, ...] = ()
    identifiers: tuple[tuple[str, str], ...] = ()
    known_only: bool = False

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

    `by` is the step that decided: 1 identifier, 2 name, 3 alias.
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
    aliases = {fold_name(alias) for alias in mention.aliases}
    steps: tuple[Callable[[Lesson], Collection[object]], ...] = (
        lambda known: known.identifiers & mention.folded_identifiers,
        lambda known: known.names & {mention.key},
        lambda known: known.names & aliases,
    )
    for number, matches in enumerate(steps, start=1):
        found = [id_ for id_, known in seen.items() if matches(known)]
        if number == 3:  # a nickname may be shared, so an alias means an entity only if it is its name
            found = [id_ for id_ in found if visible[id_].canonical in aliases]
        fit = [id_ for id_ in found if not _contradicts(mention, seen[id_]) and _has_type(mention, seen[id_])]
        if found and not fit and number == 1:
            return Resolved(candidates=tuple(sorted(found)))
        if fit:
            best = max(_rank(mention, visible[id_]) for id_ in fit)
            first = sorted(id_ for id_ in fit if _rank(mention, visible[id_]) == best)
            return Resolved(first[0], by=number) if len(first) == 1 else Resolved(candidates=tuple(first))
    return Resolved()


def _contradicts(mention: Mention, known: Lesson) -> bool:
    """Whether both have identifiers of one namespace, and no value of that namespace in common."""
    ours, theirs = mention.folded_identifiers, known.identifiers
    shared = {namespace for namespace, _ in ours} & {namespace for namespace, _ in theirs}
    equal = {namespace for namespace, _ in ours & theirs}
    return bool(shared - equal)


def _has_type(mention: Mention, known: Lesson) -> bool:
    return mention.declared_type is None or not known.types or mention.declared_type in known.types


def _rank(mention: Mention, entity: Known) -> tuple[bool, int]:
    return entity.scope == mention.scope, entity.sensitivity
