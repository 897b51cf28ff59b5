"""The store resolves mentions as the model does, whatever the entities and their terms."""

from __future__ import annotations

from uuid import UUID, uuid5

from hypothesis import given
from hypothesis import strategies as st
from model.names import NO_TYPE, Known, Lesson, Mention, fold_identifier, fold_name, resolve

from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.records import name_index

SCOPES = {"": 0, "s": 1, "t": 2}
ROOT = UUID(int=7)
_names = st.sampled_from(["ada", "bo", "cy"])
_identifiers = st.tuples(st.sampled_from(["email", "id"]), st.sampled_from(["1", "2"]))
_types = st.sampled_from(["person", "project"])
_scopes = st.sampled_from(sorted(SCOPES))
_levels = st.integers(0, 2)
_lessons = st.builds(
    Lesson,
    scope=_scopes,
    sensitivity=_levels,
    names=st.sets(_names, max_size=2),
    identifiers=st.sets(_identifiers, max_size=2),
    types=st.sets(_types, max_size=1),
)
_known = st.builds(
    lambda scope, sensitivity, lessons, canonical: Known(
        ROOT, scope, sensitivity, [Lesson(scope, sensitivity, {canonical}), *lessons], canonical
    ),
    _scopes,
    _levels,
    st.lists(_lessons, max_size=2),
    _names,
)
_mentions = st.builds(
    Mention,
    name=_names,
    scope=_scopes,
    sensitivity=_levels,
    type=st.none() | _types | st.just("Other"),
    aliases=st.lists(_names, max_size=1).map(tuple),
    identifiers=st.lists(_identifiers, max_size=2, unique=True).map(tuple),
)


def term(kind: int, *said: str) -> name_index.Term:
    namespace = said[0].encode() if kind == name_index.IDENTIFIER else None
    group = name_index.NAME if kind == name_index.ALIAS else kind
    return name_index.Term(f"{group} {said}".encode(), kind, namespace)


def entity(known: Known) -> name_index.KnownEntity:
    found = name_index.KnownEntity(known.id, SCOPES[known.scope], known.sensitivity)
    found.terms[term(name_index.NAME, known.canonical), SCOPES[known.scope], known.sensitivity] = None
    for lesson in known.lessons:
        terms = [term(name_index.ALIAS, one) for one in lesson.names - {known.canonical}]
        terms += [term(name_index.IDENTIFIER, *one) for one in lesson.identifiers]
        terms += [term(name_index.TYPE, one) for one in lesson.types]
        found.terms |= {(one, SCOPES[lesson.scope], lesson.sensitivity): None for one in terms}
    return found


def keys(mention: Mention) -> name_index.MentionKeys:
    is_typed = (mention.type or "").casefold() not in NO_TYPE
    return name_index.MentionKeys(
        scope=SCOPES[mention.scope],
        unscoped=SCOPES[""],
        sensitivity=mention.sensitivity,
        name=term(name_index.NAME, mention.name),
        identifiers=tuple(term(name_index.IDENTIFIER, *one) for one in mention.identifiers),
        aliases=tuple(term(name_index.ALIAS, one) for one in mention.aliases),
        type=term(name_index.TYPE, mention.type) if is_typed and mention.type else None,
    )


@given(mention=_mentions, entities=st.lists(_known, max_size=4))
def test_a_mention_resolves_to_the_same_entity_or_candidates(mention: Mention, entities: list[Known]) -> None:
    for number, known in enumerate(entities):
        known.id = uuid5(ROOT, str(number))
    expected = resolve(mention, entities)
    found = name_index.NameIndex(entity(known) for known in entities).match(keys(mention))
    assert (found.entity, found.candidates) == (expected.entity, expected.candidates)


@given(name=st.text(max_size=12))
def test_names_fold_as_in_the_model(name: str) -> None:
    assert normalised_name(name) == fold_name(name)


def test_identifiers_fold_case_for_e_mail_only() -> None:
    assert fold_identifier("Email", " Ada@X.example ") == ("email", "ada@x.example")
    assert fold_identifier("GitHub", " Ada ") == ("github", "Ada")
