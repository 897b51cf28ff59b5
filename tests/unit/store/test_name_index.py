"""Resolving a mention among known entities: the rules, against a slow statement of them."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.records.name_index import (
    ALIAS,
    IDENTIFIER,
    NAME,
    TYPE,
    KnownEntity,
    MentionKeys,
    NameIndex,
    Term,
)

UNSCOPED, OWN, OTHER = 1, 2, 3
names = st.sampled_from([b"sam", b"kim", b"ada"])
identifiers = st.builds(
    lambda space, value: Term(space + value, IDENTIFIER, space),
    st.sampled_from([b"email:", b"git:"]),
    st.sampled_from([b"1", b"2"]),
)
types = st.sampled_from([Term(key, TYPE) for key in (b"person", b"project", b"product", b"idea")])
APART = {b"person": {b"project", b"product"}, b"project": {b"person"}, b"product": {b"person"}}  # an idea excludes none
places = st.tuples(st.sampled_from([UNSCOPED, OWN, OTHER]), st.integers(0, 3))
terms = st.one_of(st.builds(Term, names, st.sampled_from([NAME, ALIAS])), identifiers, types)
entities = st.lists(
    st.builds(
        lambda place, of_entity: (place, of_entity),
        places,
        st.lists(st.tuples(terms, places), min_size=1, max_size=5),
    ),
    max_size=6,
)
mentions = st.builds(
    lambda level, name, of_mention, aliases, kind: MentionKeys(
        scope=OWN,
        unscoped=UNSCOPED,
        sensitivity=level,
        name=Term(name, NAME),
        identifiers=tuple(of_mention),
        aliases=tuple(Term(alias, ALIAS) for alias in aliases),
        type=kind,
        excluded=frozenset(APART.get(kind.key, set()) if kind is not None else set()),
        compatible=frozenset(APART.keys() - APART[kind.key] if kind is not None and kind.key in APART else set()),
    ),
    st.integers(0, 3),
    names,
    st.lists(identifiers, max_size=2, unique=True),
    st.lists(names, max_size=1),
    st.none() | types,
)


def known(drawn: list[tuple[tuple[int, int], list[tuple[Term, tuple[int, int]]]]]) -> list[KnownEntity]:
    return [
        KnownEntity(UUID(int=number), *place, {(term, *where): None for term, where in of_entity})
        for number, (place, of_entity) in enumerate(drawn, 1)
    ]


def expected(all_entities: list[KnownEntity], mention: MentionKeys) -> tuple[UUID | None, set[UUID]]:
    """State the rules again, entity by entity."""
    seen = {
        one.id: [term for term, scope, level in one.terms if scope in (OWN, UNSCOPED) and level <= mention.sensitivity]
        for one in all_entities
        if one.scope in (OWN, UNSCOPED) and one.sensitivity <= mention.sensitivity
    }
    by_id = {one.id: one for one in all_entities}

    def contradicts(id_: UUID) -> bool:
        for space in (b"email:", b"git:"):
            theirs = {term.key for term in mention.identifiers if term.namespace == space}
            own = {term.key for term in seen[id_] if term.namespace == space}
            if theirs and own and not theirs & own:
                return True
        kinds = types_of(id_)
        if mention.type is None or mention.type.key in kinds:
            return False
        apart = [kind in APART.get(mention.type.key, set()) for kind in kinds if kind in APART]
        return mention.type.key in APART and apart != [] and all(apart)

    def types_of(id_: UUID) -> set[bytes]:
        return {term.key for term in seen[id_] if term.kind == TYPE}

    def is_hinted(id_: UUID) -> bool:
        return mention.type is None or types_of(id_) == set() or mention.type.key in types_of(id_)

    def having(keys: set[bytes], *kinds: int) -> list[UUID]:
        return [id_ for id_, own in seen.items() if any(term.kind in kinds and term.key in keys for term in own)]

    steps = [having({term.key for term in mention.identifiers}, IDENTIFIER), having({mention.name.key}, NAME, ALIAS)]
    for number, step in enumerate(steps):
        fitting = [id_ for id_ in step if not contradicts(id_)]
        if not fitting:
            if number == 0 and step:
                return None, set(step)
            continue
        own_scope = [id_ for id_ in fitting if by_id[id_].scope == OWN] or fitting
        highest = max(by_id[id_].sensitivity for id_ in own_scope)
        best = [id_ for id_ in own_scope if by_id[id_].sensitivity == highest]
        if number > 0:
            owners = [id_ for id_ in fitting if Term(mention.name.key, NAME) in seen[id_]]
            best = [id_ for id_ in best if id_ in owners or not any(owner < id_ for owner in owners)] or best
            best = [id_ for id_ in best if is_hinted(id_)] or best
        return (best[0], set()) if len(best) == 1 else (None, set(best))
    return None, set()


@given(entities, mentions)
def test_a_mention_resolves_by_the_rules_and_never_by_a_guess(
    drawn: list[tuple[tuple[int, int], list[tuple[Term, tuple[int, int]]]]], mention: MentionKeys
) -> None:
    match = NameIndex(known(drawn)).match(mention)
    assert (match.entity, set(match.candidates)) == expected(known(drawn), mention)


@given(entities, mentions)
def test_what_was_taught_is_known_and_the_mention_then_matches_without_teaching(
    drawn: list[tuple[tuple[int, int], list[tuple[Term, tuple[int, int]]]]], mention: MentionKeys
) -> None:
    index = NameIndex(known(drawn))
    entity = index.match(mention).entity
    if entity is None:
        return
    index.teach(entity, index.unknown_terms(mention, entity), scope=mention.scope, sensitivity=mention.sensitivity)
    assert index.unknown_terms(mention, entity) == []
