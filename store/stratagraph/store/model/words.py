"""Terms of records and queries: text as term numbers with BM25 weights.

A record stores, for each distinct term, its saturated and length-normalised frequency, the term's *impact*. A query is
a vector of inverse document frequencies. Their inner product is BM25 (Robertson and Zaragoza, "The Probabilistic
Relevance Framework: BM25 and Beyond", 2009), in which no text is longer than MOST_LENGTH.
Term numbers are keyed by tenant, so that a dump of the database does not reveal words.
See docs/data-model.md, Search.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType

from stratagraph.store.model.analysis.languages import is_function_word
from stratagraph.store.model.analysis.lexemes import Asked, analysed, asked
from stratagraph.store.model.canonical import separated

DIMENSIONS = 1_000_000_000  # of pgvector's sparsevec; term numbers are 1 to 10⁹
NAME_SHARE = 0.1  # of the weight of a word, where it is a name that is scored apart
PART_SHARE = 0.3  # of the weight of a part of a word, as an ideograph or of a compound; benchmarks/recall.py
ASIDE_SHARE = 0.5  # of the weight of a word that a message says beside its question; benchmarks/recall.py
DATED_SHARE = 0.1  # of the weight of a word that names a time: the date of a record says more than its text
MAX_TERMS = 16_000  # distinct terms per record: as many as a sparsevec holds
MAX_QUERY_TERMS = 64  # distinct terms per query; further words are ignored
K1 = 1.2  # BM25: how soon repetitions of a term stop counting
B = 0.75  # BM25: how much the length of a text counts, 0 to 1
AVERAGE_LENGTH = 20.0  # words; a constant, so that stored impacts never need rewriting
MOST_LENGTH = 400  # words of a text beyond which its length counts no more: a rare word in a book is found; examples
SUMMARY_BOOST = 3  # added to the frequency of a word for each time the summary has it


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one record: ascending term numbers and their impacts, at most MAX_TERMS.

    `left_out` is how many more the record has, which do not find it: those that are rarest in it, of these the last,
    and words that are too long to be searched.
    """

    numbers: list[int]
    impacts: list[float]
    left_out: int = 0

    @classmethod
    def of_sparsevec(cls, vector: str) -> Terms:
        """Return the terms whose text form `as_sparsevec` gave."""
        entries = vector.removeprefix("{").partition("}")[0]
        pairs = [entry.split(":") for entry in entries.split(",")] if entries else []
        return cls([int(number) for number, _ in pairs], [float(impact) for _, impact in pairs])

    def as_sparsevec(self) -> str:
        """Return the terms in the text form of pgvector's sparsevec."""
        return sparsevec(zip(self.numbers, self.impacts, strict=True))


def sparsevec(weights: Iterable[tuple[int, float]]) -> str:
    """Return (term number, weight) pairs in the text form of pgvector's sparsevec."""
    pairs = list(weights)
    shown = {weight: f"{weight:.6g}" for weight in {weight for _, weight in pairs}}  # most of a record's are equal
    return "{" + ",".join([f"{number}:{shown[weight]}" for number, weight in pairs]) + f"}}/{DIMENSIONS}"


@lru_cache(maxsize=400_000)
def term_number(index_key: bytes, lexeme: str) -> int:
    """Return the number of a term, 1 to DIMENSIONS: equal for equal terms of a tenant, keyed by its index key."""
    digest = blake2b(lexeme.encode(), digest_size=8, key=index_key).digest()
    return 1 + int.from_bytes(digest, "big") % DIMENSIONS


def record_terms(index_key: bytes, body: str, summary: str = "") -> Terms:
    """Return the terms by which a record is found. Each word of the summary adds SUMMARY_BOOST to its frequency."""
    text = analysed(body)
    frequency: Counter[str] = Counter(text.lexemes)
    if summary:
        for word in analysed(summary).lexemes:
            frequency[word] += SUMMARY_BOOST
    saturation = K1 * (1 - B + B * min(max(1, text.length), MOST_LENGTH) / AVERAGE_LENGTH)
    impacts: dict[int, float] = {}
    left_out = max(0, len(frequency) - MAX_TERMS)
    for lexeme, count in frequency.most_common(MAX_TERMS) if left_out else frequency.items():
        number = term_number(index_key, lexeme)  # two terms with one number (probability 2·10⁻⁷) add up
        impacts[number] = impacts.get(number, 0.0) + count * (K1 + 1) / (count + saturation)
    numbers = sorted(impacts)
    return Terms(numbers, [impacts[number] for number in numbers], left_out + text.too_long)


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One word or identifier of a question, and the terms by which a record may have it.

    `numbers` are alternatives, such as the stems of several languages: a record with any of them has the word, and
    every record with this very word has the first of them. With `is_part`, it is a part of another word.
    """

    text: str
    numbers: tuple[int, ...]
    is_part: bool = False


def query_words(index_key: bytes, text: str) -> list[QueryWord]:
    """Return the distinct words of a query, in order of appearance; together they have at most MAX_QUERY_TERMS terms.

    An identifier is a word of its own, followed by its parts.
    """
    found: list[QueryWord] = []
    numbers: set[int] = set()
    for word in asked(text):
        alternatives = tuple(term_number(index_key, form) for form in word.forms)
        numbers.update(alternatives)
        if len(numbers) > MAX_QUERY_TERMS:
            break
        found.append(QueryWord(word.text, alternatives, word.is_part))
    return found


def query_terms(index_key: bytes, text: str) -> list[int]:
    """Return the distinct term numbers of the whole words of a query, in order of appearance."""
    words = [word for word in query_words(index_key, text) if not word.is_part]
    return list(dict.fromkeys(number for word in words for number in word.numbers))


def name_terms(index_key: bytes, name: str) -> list[int]:
    """Return the terms that every record with all words of a name has, at most MAX_QUERY_TERMS.

    Function words of any language are left out: records in that language lack them. So is the whole of a name that has
    an underscore between its words, which others write with a space. The list may be empty.
    """
    return _first_terms(index_key, [word for word in asked(separated(name)) if not is_function_word(word.text)])


def likely_name_terms(index_key: bytes, name: str) -> list[int]:
    """Return the terms of `name_terms`, or, of a name of function words alone, those of all its words.

    "Dan" is "and" in Indonesian, and "Ed" in Italian: only records in these languages lack it. The list is empty for
    English function words, which no record has.
    """
    return name_terms(index_key, name) or _first_terms(index_key, asked(name))


def _first_terms(index_key: bytes, words: Iterable[Asked]) -> list[int]:
    numbers = (term_number(index_key, word.forms[0]) for word in words if not word.is_part)
    return list(dict.fromkeys(numbers))[:MAX_QUERY_TERMS]


def idf(documents: int, frequency: int) -> float:
    """Return BM25's inverse document frequency, in the form of Lucene's BM25Similarity, which is never negative.

    ln(1 + (N − n + ½) / (n + ½)) for N documents, n of which have the term.
    """
    return math.log(1.0 + (max(documents, frequency) - frequency + 0.5) / (frequency + 0.5))


def word_shares(
    terms: Collection[int],
    *,
    names: Collection[int] = (),
    dated: Collection[int] = (),
    parts: Collection[int] = (),
    aside: Collection[int] = (),
) -> dict[int, float]:
    """Return the shares of their weight that terms of a question have; of the others, all.

    They are NAME_SHARE for `names`, if there are words that are neither, DATED_SHARE for `dated`, PART_SHARE for
    `parts` and ASIDE_SHARE for those said `aside`, if there are others.
    """
    found: dict[int, float] = {}
    for some, share in ((aside, ASIDE_SHARE), (parts, PART_SHARE)):
        if {*terms} - {*some}:
            found |= dict.fromkeys(some, share)
    others = {*terms} - {*dated}
    found |= dict.fromkeys(names, NAME_SHARE) if others - {*names} else {}
    return found | (dict.fromkeys(dated, DATED_SHARE) if others else {})


def term_weights(
    numbers: Iterable[int],
    frequencies: Mapping[int, int],
    documents: int,
    *,
    shares: Mapping[int, float] = MappingProxyType({}),
) -> dict[int, float]:
    """Return the idf of each term of a query, times its share. A term without a count gets that of a frequency of 1."""
    return {number: idf(documents, frequencies.get(number, 1)) * shares.get(number, 1.0) for number in numbers}


def query_vector(
    numbers: Iterable[int],
    frequencies: Mapping[int, int],
    documents: int,
    *,
    shares: Mapping[int, float] = MappingProxyType({}),
) -> str:
    """Return a query as a sparsevec of the weights of its terms."""
    return sparsevec(sorted(term_weights(numbers, frequencies, documents, shares=shares).items()))
