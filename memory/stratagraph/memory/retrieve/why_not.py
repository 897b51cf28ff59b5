"""Why a record is not in an answer, from the search that made the answer. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from stratagraph.memory.retrieve.answer import Node, Retrieved
from stratagraph.memory.retrieve.candidates import Candidate, Why
from stratagraph.memory.retrieve.choose import Chosen
from stratagraph.memory.retrieve.phrases import has_phrases
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.model.words import record_terms


class Absence(StrEnum):
    """A reason for which a record is not in an answer."""

    UNKNOWN_THEN = "unknown_then"  # it did not exist at the instant asked for
    SCOPE = "scope"  # the request leaves its scope out
    SENSITIVITY = "sensitivity"  # it is above the request's ceiling
    STATE = "state"  # it is superseded or retracted
    VALIDITY = "validity"  # it is a fact that does not hold at the instant
    TYPE = "type"  # the request leaves its type out of the roots
    SALIENCE = "salience"  # its salience is below the request's least
    THREAD = "thread"  # it is of a thread that the request leaves out, or says the question itself
    PHRASE = "phrase"  # it has not a phrase of the question word for word
    DUPLICATE = "duplicate"  # it says the same as a newer record, or quotes one, that stands for it
    NO_MATCH = "no_match"  # it has none of the question's words, and no name in it is the record's
    NOT_RANKED = "not_ranked"  # it has some of the words, and too many records match them better
    STRENGTH = "strength"  # it covers some of the question, and no record covers enough
    RANK = "rank"  # it was ranked below the last root
    NOT_REACHED = "not_reached"  # no relation that was followed leads to it
    LIMIT = "limit"  # a limit on nodes, edges or hops cut the expansion


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason, and a sentence that says it with its numbers."""

    absence: Absence
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """An answer, and what it was chosen from.

    `found` are the candidates, also where none is strong enough, `chosen` those that were ranked, and `wanted` is the
    number of roots to take of them. `least` is the strength that a root, or the best of them, must have. `phrases` are
    those of the question, as `phrases_of` returns them. The records `left_out` were not searched.
    `at` is the instant of the search.
    """

    caller: Caller
    at: datetime
    phrases: Sequence[str]
    found: Sequence[Candidate]
    chosen: Chosen
    wanted: int
    least: float
    left_out: frozenset[UUID]
    answer: Retrieved

    def why(self, id_: UUID) -> Why | None:
        """Return what made a record a candidate; None for one that is none."""
        return next((one.why for one in self.found if one.head.id == id_), None)

    @property
    def order(self) -> Sequence[tuple[UUID, float]]:
        """The records that were ranked, with their scores, best first."""
        return [(one.head.id, score) for one, score in self.chosen.order]


@dataclass(frozen=True, slots=True)
class Matched:
    """The bits of the question's words that the text of a record has, and the phrases that it has not."""

    covered: int
    lacking: tuple[str, ...]


def match(record: MemoryRecord, search: Search) -> Matched:
    """Return what a record has of the question. Analyses its text, which may take long."""
    asked = search.answer.asked
    terms = record_terms(asked.index_key, record.text or "", record.name or "").numbers
    lacking = tuple(phrase for phrase in search.phrases if not has_phrases(record, [phrase]))
    return Matched(asked.covered_by({*terms}), lacking)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNot:
    """Where a record is in an answer, or why it is not there.

    `node` is its node; without one, `reasons` has at least one entry, those that no ranking can change first. `rank` is
    its place among the `candidates` that were ranked, from 1, with its `score`; None where it was not ranked. `words`
    are those of the question that the record has.
    """

    record: MemoryRecord
    node: Node | None
    reasons: tuple[Reason, ...]
    rank: int | None
    score: float | None
    candidates: int
    words: tuple[str, ...]


def explain_absence(
    record: MemoryRecord, search: Search, request: RetrieveRequest, matched: Matched, *, existed: bool
) -> WhyNot:
    """Return where `record` is in the answer of `search`, or why not.

    `record` is as it was at the instant asked for, or as it is now where it did not exist then.
    """
    answer = search.answer
    node = next((one for one in answer.nodes if one.record.id == record.id), None)
    place = next((place for place, (id_, _) in enumerate(search.order, 1) if id_ == record.id), None)
    why = search.why(record.id)
    words = answer.asked.spelled(why.covered if why is not None else matched.covered)
    reasons = (
        ()
        if node is not None
        else tuple(_reasons(record, search, request, place, words, matched.lacking, existed=existed))
    )
    return WhyNot(
        record=record,
        node=node,
        reasons=reasons,
        rank=place,
        score=search.order[place - 1][1] if place is not None else None,
        candidates=len(search.order),
        words=tuple(words),
    )


def _reasons(
    record: MemoryRecord,
    search: Search,
    request: RetrieveRequest,
    place: int | None,
    words: Sequence[str],
    lacking: Sequence[str],
    *,
    existed: bool,
) -> Iterator[Reason]:
    """Yield the reasons for which the record is not in the answer, those that no ranking can change first."""
    lasting = list(_lasting(record, search, request, existed=existed))
    yield from lasting
    if lasting:
        return
    type_is_wanted = not request.memory_types or record.type in request.memory_types
    if not type_is_wanted:
        wanted = ", ".join(one.label for one in request.memory_types)
        yield Reason(Absence.TYPE, f"It is {record.type.label}, and only {wanted} may be roots.")
    is_salient = request.min_salience is None or record.salience >= request.min_salience
    if not is_salient:
        yield Reason(
            Absence.SALIENCE, f"Its salience is {record.salience:.3f}; at least {request.min_salience:g} is asked for."
        )
        return  # neither as a root nor as a neighbour
    if record.id in search.left_out:
        yield Reason(
            Absence.THREAD, "It is of a thread that excludeThreadIds leaves out, or says the question word for word."
        )
        return
    same = search.chosen.stands_for(record.id)
    if lacking:
        wanted = " and ".join(f'"{phrase.strip()}"' for phrase in lacking)
        yield Reason(Absence.PHRASE, f"It does not have {wanted} word for word; ask without the quotes.")
        if search.answer.nothing_known:
            return
    elif same is not None:
        yield Reason(Absence.DUPLICATE, f"It says the same as {same}, which takes one place for both.")
    elif place is not None:
        yield Reason(
            Absence.RANK,
            f"It is ranked {place} of {len(search.order)} that matched, and {search.wanted} roots were wanted; raise"
            " rootLimit and nodeLimit, or ask more precisely.",
        )
    elif (why := search.why(record.id)) is not None and why.strength < search.least:
        yield _too_weak(search, request, why)
        return
    elif type_is_wanted:
        yield _unmatched(search.answer, words)
    yield _unreached(search.answer, request, record.type)


def _lasting(record: MemoryRecord, search: Search, request: RetrieveRequest, *, existed: bool) -> Iterator[Reason]:
    """Yield the reasons that keep the record out of any answer to a request with these scopes and this instant."""
    trust, at = search.caller.trust, search.answer.at or search.at
    valid_at = request.valid_at or at
    if not existed:
        yield Reason(
            Absence.UNKNOWN_THEN,
            f"At {rfc3339(at)} the store did not have it, or not for this credential; it was created at"
            f" {rfc3339(record.created_at)}.",
        )
    if trust.scopes is not None and record.scope != UNSCOPED and record.scope not in trust.scopes:
        yield Reason(Absence.SCOPE, f"It is in the scope {record.scope!r}, which the request leaves out.")
    if record.sensitivity > trust.ceiling:
        yield Reason(
            Absence.SENSITIVITY,
            f"Its sensitivity is {record.sensitivity.label}; the request asks for {trust.ceiling.label} at most.",
        )
    if search.why(record.id) is not None:
        return  # a past fact, of a question for what held then
    if record.state not in (RecordState.ACTIVE, RecordState.CONTESTED):
        yield Reason(Absence.STATE, f"It is {record.state.label}; only current records are returned.")
    if not record.holds_at(valid_at):
        is_over = record.valid_to is not None and record.valid_to <= valid_at
        bound = record.valid_to if is_over else record.valid_from
        assert bound is not None
        yield Reason(
            Absence.VALIDITY,
            f"It {'held until' if is_over else 'holds only from'} {rfc3339(bound)}, and the answer is as of"
            f" {rfc3339(valid_at)}.",
        )


def _unmatched(answer: Retrieved, words: Sequence[str]) -> Reason:
    if words:
        return Reason(
            Absence.NOT_RANKED,
            f"It has {', '.join(words)} of the question, but too many records match the words better; ask with rarer"
            " words, or in a narrower scope.",
        )
    asked = ", ".join(word.text for word in answer.asked.words) or "no word that can be searched"
    return Reason(Absence.NO_MATCH, f"Neither its words nor its name match the question, which has {asked}.")


def _too_weak(search: Search, request: RetrieveRequest, why: Why) -> Reason:
    if request.min_strength is not None:
        return Reason(
            Absence.STRENGTH, f"It covers {why.strength:.0%} of the question; minStrength asks for {search.least:.0%}."
        )
    strongest = max(one.why.strength for one in search.found)
    return Reason(
        Absence.STRENGTH,
        f"It covers {why.strength:.0%} of the question, and the record that covers most {strongest:.0%}; as"
        f" no record covers {search.least:.0%}, nothing is known. Ask with minStrength 0 for what there is.",
    )


def _unreached(answer: Retrieved, request: RetrieveRequest, type_: MemoryType) -> Reason:
    cuts = [limit for limit in answer.reached if limit != "roots"]
    if cuts:
        return Reason(
            Absence.LIMIT,
            f"The expansion from the roots was cut by its limits ({', '.join(cuts)}), so it may have been left out;"
            " raise nodeLimit, edgeLimit or maxHops.",
        )
    if request.max_hops == 0:
        return Reason(Absence.NOT_REACHED, "The request follows no relations (maxHops is 0).")
    if any(request.hop_types):
        return Reason(
            Absence.NOT_REACHED,
            f"No relation leads from a root to it within {request.max_hops} hop(s) by the types of hopTypes; it is"
            f" {type_.label}.",
        )
    return Reason(Absence.NOT_REACHED, f"No relation leads from a root to it within {request.max_hops} hop(s).")
