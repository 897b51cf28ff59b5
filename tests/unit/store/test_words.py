"""Terms of texts: keyed, case-folded and bounded in number; the inner product with a query is BM25."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.store.model.analysis.lexemes import analysed, asked, lexemes
from stratagraph.store.model.words import (
    AVERAGE_LENGTH,
    DIMENSIONS,
    K1,
    MAX_TERMS,
    PART_SHARE,
    SUMMARY_BOOST,
    B,
    idf,
    query_terms,
    query_vector,
    query_words,
    record_terms,
    sparsevec,
    term_number,
    word_shares,
)

EXAMPLES = settings(max_examples=60, deadline=None)
KEY, OTHER_KEY = bytes(32), bytes(31) + b"\x01"
VOCABULARY = ["cache", "linker", "build", "pkg/auth", "the", "Ärger", "go", "main.rs", "v1.2", "記憶", "deploy", "of"]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
sentences = st.lists(st.sampled_from(VOCABULARY), max_size=30).map(" ".join)


def weights(vector: str) -> dict[int, float]:
    """Parse the text form of a sparsevec."""
    entries, dimensions = vector.removeprefix("{").split("}/")
    assert int(dimensions) == DIMENSIONS
    return {
        int(number): float(weight) for number, weight in (entry.split(":") for entry in entries.split(",") if entry)
    }


# Numbers --------------------------------------------------------------------------------------------------------


@EXAMPLES
@given(texts)
def test_the_same_words_get_the_same_numbers(text: str) -> None:
    assert record_terms(KEY, text) == record_terms(KEY, text)


@EXAMPLES
@given(st.lists(st.text(min_size=1, max_size=10), min_size=1, max_size=20, unique=True))
def test_another_key_gives_other_numbers(words: list[str]) -> None:
    encodable = [word for word in words if not re.search("[\ud800-\udfff]", word)]
    ours = {term_number(KEY, word) for word in encodable}
    theirs = {term_number(OTHER_KEY, word) for word in encodable}
    assert len(ours) == len(theirs) == len(encodable)
    assert not ours & theirs


@EXAMPLES
@given(texts, texts)
def test_numbers_ascend_are_distinct_and_within_the_dimensions(body: str, summary: str) -> None:
    terms = record_terms(KEY, body, summary)
    assert all(low < high for low, high in pairwise(terms.numbers))
    assert all(1 <= number <= DIMENSIONS for number in terms.numbers)
    assert len(terms.numbers) == len(terms.impacts)
    assert all(0 < impact < K1 + 1 for impact in terms.impacts)


def test_a_record_keeps_a_bounded_number_of_its_most_frequent_terms() -> None:
    rare = " ".join(f"w{position}x" for position in range(MAX_TERMS))
    terms = record_terms(KEY, f"{rare} common common")
    assert len(terms.numbers) == MAX_TERMS
    assert term_number(KEY, "common") in terms.numbers


def test_a_record_says_how_many_of_its_terms_do_not_find_it() -> None:
    words = [f"{chr(97 + at % 26)}{chr(97 + at // 26 % 26)}{chr(97 + at // 676)}x" for at in range(MAX_TERMS + 3)]
    known = len({*lexemes(" ".join(words))})
    assert record_terms(KEY, " ".join(words)).left_out == known - MAX_TERMS
    assert record_terms(KEY, " ".join(words[: MAX_TERMS // 2])).left_out == 0


def test_a_word_of_a_long_text_counts_as_in_a_part_of_it_and_the_length_of_others_counts_whole() -> None:
    rest = " ".join(f"row{at}" for at in range(40))
    short, long, longer = (
        dict(zip(terms.numbers, terms.impacts, strict=True))[term_number(KEY, "boiler")]
        for terms in (record_terms(KEY, f"boiler {rest * times}") for times in (3, 30, 300))
    )
    assert short > long == longer


def test_a_query_has_at_most_64_terms_in_order_of_appearance() -> None:
    words = [f"word{chr(97 + position // 26)}{chr(97 + position % 26)}" for position in range(100)]
    numbers = query_terms(KEY, " ".join(words))
    assert len(numbers) == 64
    assert numbers[0] == term_number(KEY, lexemes(words[0])[0])
    assert len(set(numbers)) == 64


@EXAMPLES
@given(texts)
def test_a_record_has_each_word_of_a_query_for_its_own_text(text: str) -> None:
    held = set(record_terms(KEY, text).numbers)
    words = [word for word in query_words(KEY, text) if not word.is_part]
    assert all(word.numbers[0] in held for word in words)
    assert {number for word in words for number in word.numbers} == set(query_terms(KEY, text))


def test_a_vector_has_the_text_form_of_pgvector() -> None:
    assert sparsevec([(1, 0.5), (7, 2.0), (10, 1 / 3)]) == "{1:0.5,7:2,10:0.333333}/1000000000"
    assert sparsevec([]) == "{}/1000000000"


@EXAMPLES
@given(sentences)
def test_the_vector_of_a_record_has_its_terms_and_impacts(text: str) -> None:
    terms = record_terms(KEY, text)
    assert weights(terms.as_sparsevec()) == pytest.approx(
        dict(zip(terms.numbers, terms.impacts, strict=True)), rel=1e-5
    )


# BM25 -----------------------------------------------------------------------------------------------------------


def bm25(query: str, document: str, corpus: list[str]) -> float:
    """BM25 as in Robertson and Zaragoza (2009), with the idf of Lucene, computed word by word."""
    counted = Counter(lexemes(document))
    length = max(1, analysed(document).length)
    score = 0.0
    shares = {form: PART_SHARE if one.is_part else 1.0 for one in asked(query) for form in one.forms}
    for word, share in shares.items():
        containing = max(1, sum(word in lexemes(other) for other in corpus))
        rarity = math.log(1 + (max(len(corpus), containing) - containing + 0.5) / (containing + 0.5))
        frequency = counted[word]
        score += share * rarity * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length / AVERAGE_LENGTH))
    return score


@EXAMPLES
@given(sentences, st.lists(sentences, min_size=1, max_size=5))
def test_the_inner_product_of_query_and_record_is_bm25(query: str, corpus: list[str]) -> None:
    frequencies: Counter[int] = Counter()
    for document in corpus:
        frequencies.update(record_terms(KEY, document).numbers)
    words = query_words(KEY, query)
    terms = [number for word in words for number in word.numbers]
    shares = word_shares(terms, parts=[number for word in words if word.is_part for number in word.numbers])
    asked = weights(query_vector(terms, frequencies, len(corpus), shares=shares))
    for document in corpus:
        held = weights(record_terms(KEY, document).as_sparsevec())
        product = sum(weight * held.get(number, 0.0) for number, weight in asked.items())
        assert product == pytest.approx(bm25(query, document, corpus), rel=1e-4, abs=1e-9)


def test_a_word_of_the_summary_counts_as_several_words_of_the_body() -> None:
    body = " ".join(["cache"] * (1 + SUMMARY_BOOST))
    boosted = record_terms(KEY, "cache", "cache").impacts[0]
    assert boosted > record_terms(KEY, "cache").impacts[0]
    length = K1 * (1 - B + B / AVERAGE_LENGTH)
    assert boosted == pytest.approx((1 + SUMMARY_BOOST) * (K1 + 1) / (1 + SUMMARY_BOOST + length))
    assert boosted > record_terms(KEY, body).impacts[0]  # the summary does not make the record longer


@pytest.mark.parametrize("documents", [1, 10, 10**6])
def test_idf_decreases_with_frequency_and_is_positive(documents: int) -> None:
    values = [idf(documents, frequency) for frequency in (1, 2, documents // 2, documents, 2 * documents)]
    assert all(value > 0 for value in values)
    assert idf(documents, 1) >= idf(documents, documents)


def test_a_term_without_a_count_is_weighted_as_rare() -> None:
    assert query_vector([5], {}, 100) == query_vector([5], {5: 1}, 100)
    assert query_vector([9, 5], {5: 50}, 100).startswith("{5:")
