"""The entities that some names may mean, in memory, and the rules by which a mention is resolved among them. No I/O.

A mention never resolves by a guess: where two entities fit equally well it resolves to none. The rules are those of
docs/specification.md, Entities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from uuid import UUID

IDENTIFIER, NAME, ALIAS, TYPE = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Term:
    """A keyed hash of an identifier, a name, an alias or a type of an entity; `kind` says which.

    `namespace` is the keyed hash of an identifier's namespace, None for the other kinds.
    """

    key: bytes
    kind: int
    namespace: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionKeys:
    """A mention as terms, with the scope and the sensitivity of its capture, as numbers of the database.

    `unscoped` is the number of the scope `""`. `type` is None for a mention without a type, or of the type `Other`.
    `excluded` are the keys of types that it excludes (`entity_kinds`), and `compatible` those of all others that tell a
    kind; both are empty where it excludes none. With `states_type`, the type is no hint: it excludes all others.
    """

    scope: int
    unscoped: int
    sensitivity: int
    name: Term
    identifiers: tuple[Term, ...] = ()
    aliases: tuple[Term, ...] = ()
    type: Term | None = None
    excluded: frozenset[bytes] = frozenset()
    compatible: frozenset[bytes] = frozenset()
    states_type: bool = False

    @property
    def terms(self) -> list[Term]:
        """All terms of the mention, each once: identifiers, name, aliases, type."""
        found = [*self.identifiers, self.name, *self.aliases, *([self.type] if self.type is not None else [])]
        return list({term.key: term for term in reversed(found)}.values())[::-1]

    def sees(self, scope: int, sensitivity: int) -> bool:
        """Return whether the mention may resolve to what has this scope and sensitivity."""
        return scope in (self.scope, self.unscoped) and sensitivity <= self.sensitivity


@dataclass(slots=True)
class KnownEntity:
    """An entity with its scope and sensitivity, and its terms with the scope and sensitivity of each."""

    id: UUID
    scope: int
    sensitivity: int
    terms: dict[tuple[Term, int, int], None] = field(default_factory=dict)

    def seen_by(self, mention: MentionKeys, *kinds: int) -> list[Term]:
        """Return the terms of these kinds that the mention may be compared with."""
        return [
            term for term, scope, sensitivity in self.terms if term.kind in kinds and mention.sees(scope, sensitivity)
        ]

    def contradicts(self, mention: MentionKeys) -> bool:
        """Return whether the mention must mean another entity.

        So it is if both have identifiers of one namespace and none of them is equal, or if the mention's type excludes
        those of the entity. Types that do not exclude each other are hints, unless the mention states its type.
        """
        own = self.seen_by(mention, IDENTIFIER)
        for namespace in {term.namespace for term in mention.identifiers} & {term.namespace for term in own}:
            theirs = {term.key for term in mention.identifiers if term.namespace == namespace}
            if not theirs & {term.key for term in own if term.namespace == namespace}:
                return True
        types = {term.key for term in self.seen_by(mention, TYPE)}
        if mention.type is None or mention.type.key in types:
            return False
        if mention.states_type:
            return bool(types)
        return not types.isdisjoint(mention.excluded) and types.isdisjoint(mention.compatible)


class MentionOutcome(Enum):
    """What became of a mention."""

    MATCHED = "it means an entity that existed, which learned nothing new"
    TAUGHT = "it means an entity that existed, which learned names, identifiers, types or other fields from it"
    CREATED = "a new entity was created for it"
    AMBIGUOUS = "several entities fit equally well, or its identifier belongs to an entity that contradicts it"
    UNKNOWN = "no entity has this name, and none was created"


@dataclass(frozen=True, slots=True)
class Match:
    """The entity that a mention means, None for none, and the entities that it may mean where it is ambiguous."""

    entity: UUID | None
    candidates: tuple[UUID, ...] = ()


class NameIndex:
    """The entities found by some terms. It is filled from the database, and then with what a request adds to it."""

    def __init__(self, entities: Iterable[KnownEntity] = ()) -> None:
        self.entities: dict[UUID, KnownEntity] = {}
        self._by_key: dict[bytes, dict[UUID, None]] = {}
        for entity in entities:
            self.add(entity)

    def add(self, entity: KnownEntity) -> None:
        """Add an entity with its terms."""
        self.entities[entity.id] = entity
        for term, _, _ in entity.terms:
            if term.kind != TYPE:
                self._by_key.setdefault(term.key, {})[entity.id] = None

    def teach(self, entity: UUID, terms: Iterable[Term], *, scope: int, sensitivity: int) -> None:
        """Add terms to a known entity, with the scope and sensitivity of the capture that taught them."""
        for term in terms:
            self.entities[entity].terms[term, scope, sensitivity] = None
            if term.kind != TYPE:
                self._by_key.setdefault(term.key, {})[entity] = None

    def match(self, mention: MentionKeys) -> Match:
        """Return the entity that the mention means: by identifier, then by its name.

        The name is looked for among names and aliases. The aliases that the mention gives find nothing: that something
        new is also called like a known entity is said by one side only. An entity whose own name it is comes before a
        younger one that is also called so, since any writer may call an entity by the name of another. One that has no
        type, or the declared one, comes before one that has another.
        """
        by_identifier = self._having(mention, mention.identifiers, (IDENTIFIER,))
        if by_identifier:
            fitting = [entity for entity in by_identifier if not entity.contradicts(mention)]
            if not fitting:
                return Match(None, tuple(sorted(entity.id for entity in by_identifier)))
            return _best(mention, fitting, by_hints=False)
        named = self._having(mention, [mention.name], (NAME, ALIAS))
        fitting = [entity for entity in named if not entity.contradicts(mention)]
        return _best(mention, fitting, by_hints=True) if fitting else Match(None)

    def unknown_terms(self, mention: MentionKeys, entity: UUID) -> list[Term]:
        """Return the terms of a matched mention that its entity does not have; names among them become aliases."""
        known = self.entities[entity]
        identifiers = {term.key for term in known.seen_by(mention, IDENTIFIER)}
        names = {term.key for term in known.seen_by(mention, NAME, ALIAS)}
        types = {term.key for term in known.seen_by(mention, TYPE)}
        found = [term for term in mention.identifiers if term.key not in identifiers]
        found += [Term(term.key, ALIAS) for term in (mention.name, *mention.aliases) if term.key not in names]
        if mention.type is not None and mention.type.key not in types:
            found.append(mention.type)
        return list(dict.fromkeys(found))

    def _having(self, mention: MentionKeys, terms: Sequence[Term], kinds: tuple[int, ...]) -> list[KnownEntity]:
        """Return the entities that have one of the terms, as one of these kinds, within what the mention sees."""
        wanted = {term.key for term in terms}
        ids = dict.fromkeys(id_ for key in wanted for id_ in self._by_key.get(key, ()))
        return [
            entity
            for entity in (self.entities[id_] for id_ in ids)
            if mention.sees(entity.scope, entity.sensitivity)
            and any(term.key in wanted for term in entity.seen_by(mention, *kinds))
        ]


def _best(mention: MentionKeys, fitting: Sequence[KnownEntity], *, by_hints: bool) -> Match:
    """Return the only entity of the best rank; if there are several, all of them as candidates.

    Entities of the mention's own scope rank before unscoped ones, then the more sensitive before the less sensitive.
    With `by_hints`, entities that are also called so rank after older ones whose own name it is, and last come those
    that have types, but not the mention's.
    """
    owners = [one.id for one in fitting if mention.name.key in {term.key for term in one.seen_by(mention, NAME)}]
    oldest_owner = min(owners, default=None)  # ids are in the order of creation

    def rank(entity: KnownEntity) -> tuple[bool, int, bool, bool]:
        place = entity.scope != mention.scope, -entity.sensitivity
        if not by_hints:
            return (*place, False, False)
        types = entity.seen_by(mention, TYPE)
        is_late = oldest_owner is not None and entity.id not in owners and entity.id > oldest_owner
        return (*place, is_late, mention.type is not None and bool(types) and mention.type not in types)

    first = min(rank(entity) for entity in fitting)
    best = sorted(entity.id for entity in fitting if rank(entity) == first)
    return Match(best[0]) if len(best) == 1 else Match(None, tuple(best))
