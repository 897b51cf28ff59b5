"""The store resolves mentions as the model does, whatever the entities and their terms."""

from __future__ import annotations

import unicodedata
from typing import Literal
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model.names import INVISIBLE, NO_TYPE, WRITTEN, Known, Lesson, Mention, fold_identifier, fold_name, resolve

from stratagraph.store.model.analysis.lexemes import lexemes
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.entity_kinds import KIND_OF, excluded_by
from stratagraph.store.model.words import name_terms, record_terms
from stratagraph.store.records import name_index

SCOPES = {"": 0, "s": 1, "t": 2}
ROOT = UUID(int=7)
_names = st.sampled_from(["ada", "bo", "cy"])
_identifiers = st.tuples(st.sampled_from(["email", "id"]), st.sampled_from(["1", "2"]))
_types = st.sampled_from(["person", "project", "product", "city", "place", "team", "pilot"])
_scopes = st.sampled_from(sorted(SCOPES))
_levels = st.integers(0, 2)
_lessons = st.builds(
    Lesson,
    scope=_scopes,
    sensitivity=_levels,
    names=st.sets(_names, max_size=2),
    identifiers=st.sets(_identifiers, max_size=2),
    types=st.sets(_types, max_size=2),
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
    states_type=st.booleans(),
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
    is_typed = mention.type is not None and mention.type.casefold() not in NO_TYPE
    excluded = excluded_by(mention.type) if is_typed and mention.type else frozenset()
    return name_index.MentionKeys(
        scope=SCOPES[mention.scope],
        unscoped=SCOPES[""],
        sensitivity=mention.sensitivity,
        name=term(name_index.NAME, mention.name),
        identifiers=tuple(term(name_index.IDENTIFIER, *one) for one in mention.identifiers),
        aliases=tuple(term(name_index.ALIAS, one) for one in mention.aliases),
        type=term(name_index.TYPE, mention.type) if is_typed and mention.type else None,
        states_type=mention.states_type,
        excluded=frozenset(term(name_index.TYPE, one).key for one in excluded),
        compatible=frozenset(term(name_index.TYPE, one).key for one in (KIND_OF.keys() - excluded if excluded else ())),
    )


@given(mention=_mentions, entities=st.lists(_known, max_size=4))
def test_a_mention_resolves_to_the_same_entity_or_candidates(mention: Mention, entities: list[Known]) -> None:
    for number, known in enumerate(entities):
        known.id = uuid5(ROOT, str(number))
    expected = resolve(mention, entities)
    found = name_index.NameIndex(entity(known) for known in entities).match(keys(mention))
    assert (found.entity, found.candidates) == (expected.entity, expected.candidates)


SIGNS = sorted({*"".join(WRITTEN), *"".join(WRITTEN.values()), *"_´O bé\u0301", *map(chr, INVISIBLE[:40])})
_spellings = st.text(st.characters() | st.sampled_from(SIGNS), max_size=12)


@given(name=_spellings)
def test_names_fold_as_in_the_model(name: str) -> None:
    assert normalised_name(name) == fold_name(name)


@given(name=_spellings, form=st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_names_fold_once_whatever_their_normal_form(name: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> None:
    assert normalised_name(unicodedata.normalize(form, name)) == normalised_name(name)
    assert normalised_name(normalised_name(name)) == normalised_name(name)


@given(
    words=st.lists(st.text("obé李д", min_size=1, max_size=4), min_size=2, max_size=4),
    sign=st.sampled_from("'\"-"),
    data=st.data(),
)
def test_names_that_differ_in_how_a_sign_is_written_are_one(words: list[str], sign: str, data: st.DataObject) -> None:
    """Apostrophes, quotes and hyphens of any kind, invisible characters, and underscores for the spaces of a name."""
    other = data.draw(st.sampled_from(WRITTEN[sign]))
    nothing = data.draw(st.sampled_from([chr(point) for point in INVISIBLE]))
    assert normalised_name(other.join(words)) == normalised_name(sign.join(words))
    assert normalised_name(nothing.join(words)) == normalised_name("".join(words))
    assert normalised_name("_".join(words)) == normalised_name(" ".join(words))
    # A search by words finds both, too, except that a name with underscores is also an identifier as a whole.
    if other not in "—―⸗⸺⸻⹀":
        assert lexemes(other.join(words)) == lexemes(sign.join(words))
    assert lexemes(nothing.join(words)) == lexemes("".join(words))
    key = bytes(32)
    assert set(name_terms(key, "_".join(words))) <= set(record_terms(key, " ".join(words)).numbers)
    assert set(name_terms(key, " ".join(words))) <= set(record_terms(key, "_".join(words)).numbers)


@pytest.mark.parametrize("name", ["__init__", "_pool", "pool_", "user__name", "a_/b", "x _ y"])
def test_an_underscore_that_stands_between_no_two_words_is_part_of_the_name(name: str) -> None:
    assert normalised_name(name) == name


def test_identifiers_fold_case_for_e_mail_only() -> None:
    assert fold_identifier("Email", " Ada@X.example ") == ("email", "ada@x.example")
    assert fold_identifier("GitHub", " Ada ") == ("github", "Ada")
