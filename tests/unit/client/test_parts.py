"""Parts of the Python client that need no service: events, carried sequences, addresses, keys, enums, errors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph_client import StratagraphError
from stratagraph_client.answers import AnswerBody, data_of, read
from stratagraph_client.carried import MOST, Carried
from stratagraph_client.errors import RateLimited, Unauthenticated, Unavailable
from stratagraph_client.events import Event, EventParser
from stratagraph_client.operations.documents import FRAGMENTS, OPERATIONS
from stratagraph_client.operations.enums import MemoryType
from stratagraph_client.operations.record_by_handle import RecordByHandleData
from stratagraph_client.requests import add_keys, add_sequence, document_of, endpoint_of, has_keys, may_repeat
from stratagraph_client.timing import seconds_of

LINES = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=20)


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Event], list[bytes]]:
    """Draw events, and a stream of them that is cut into parts anywhere."""
    events = draw(
        st.lists(
            st.builds(
                Event,
                kind=st.sampled_from(["next", "complete"]),
                data=st.none() | LINES,
                id=st.none() | LINES.filter(bool),
            ),
            max_size=5,
        )
    )
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = ""
    for event in events:
        text += draw(st.sampled_from(["", f": a comment{end}", f":{end}{end}"]))
        text += "" if event.id is None else f"id: {event.id}{end}"
        text += f"event: {event.kind}{end}"
        text += "" if event.data is None else f"data: {event.data}{end}"
        text += end
    content = text.encode() + b"\n"
    cuts = sorted(draw(st.lists(st.integers(0, len(content)), max_size=8)))
    return events, [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]


@given(streams())
def test_events_are_put_together_wherever_the_stream_is_cut(drawn: tuple[list[Event], list[bytes]]) -> None:
    events, parts = drawn
    parser = EventParser()
    assert [event for part in parts for event in parser.feed(part)] == events


def test_an_event_that_is_cut_off_is_never_returned() -> None:
    whole = b"id: p1\nevent: next\ndata: {}\n\n"
    for length in range(len(whole)):
        assert list(EventParser().feed(whole[:length])) == []
    assert list(EventParser().feed(whole)) == [Event("next", "{}", "p1")]


@dataclass
class Write:
    """A write: it begins, commits and ends at these moments."""

    begins: int
    commits: int
    ends: int


@st.composite
def histories(draw: st.DrawFn) -> list[Write]:
    moments = st.lists(st.integers(0, 60), min_size=3, max_size=3).map(sorted)
    return [Write(*draw(moments)) for _ in range(draw(st.integers(1, 12)))]


def overlap(writes: Sequence[Write]) -> int:
    """Return how many writes ran at the same time at most."""
    return max(sum(one.begins <= at <= one.ends for one in writes) for at in range(61))


@given(histories(), st.booleans())
def test_a_reader_that_sees_what_is_carried_sees_all_writes_that_have_ended(writes: list[Write], handed: bool) -> None:
    carried = Carried("given" if handed else None)
    places: dict[int, int] = {}
    ended: list[Write] = []
    for moment in range(61):  # at one moment, first all ends and then all beginnings, or the reverse: begin is first
        for number, write in enumerate(writes):
            if write.begins == moment:
                places[number] = carried.begin()
        for number, write in enumerate(writes):
            if write.ends == moment:
                carried.end(places[number], f"t{number}", replayed=False)
                ended.append(write)
        if ended:
            tokens = (carried.sequence or "").split(".")
            seen_at = max(writes[int(token[1:])].commits for token in tokens if token != "given")
            assert all(one.commits <= seen_at for one in ended)
            assert len(tokens) <= overlap(writes) + handed


def test_what_is_carried_is_bounded_and_a_replay_hides_no_newer_write() -> None:
    carried = Carried()
    begun = carried.begin()
    for number in range(3 * MOST):
        carried.end(begun, f"t{number}", replayed=False)
    assert len((carried.sequence or "").split(".")) == MOST
    carried.end(carried.begin(), "new", replayed=False)
    carried.end(carried.begin(), "old", replayed=True)
    assert carried.sequence == "new.old"
    assert carried.own
    assert not Carried("handed").own


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/graphql"),
        ("https://host/memory/", "https://host/memory/graphql"),
        ("https://host/memory/graphql", "https://host/memory/graphql"),
        ("http://[::1]:8000", "http://[::1]:8000/graphql"),
    ],
)
def test_an_address_may_have_a_path_and_be_of_ipv6(url: str, endpoint: str) -> None:
    assert endpoint_of(url) == endpoint


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://", "http://me:secret@host", "http://host?k=1"])
def test_an_address_that_is_none_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="url must") as refused:
        endpoint_of(url)
    assert "secret" not in str(refused.value)


def test_the_address_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "STRATAGRAPH_URL", "https://elsewhere")
    assert endpoint_of(None) == "https://elsewhere/graphql"


def test_retry_after_may_be_seconds_or_an_instant() -> None:
    assert [seconds_of(given) for given in (None, "", "3", "0.5", "-1", "soon")] == [None, None, 3.0, 0.5, 0.0, None]
    later = seconds_of(format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True))
    assert later is not None
    assert 50 < later <= 60


def test_every_mutation_that_takes_a_key_gets_one_and_keeps_the_callers() -> None:
    keyed = {name: one.key for name, one in OPERATIONS.items() if one.key is not None}
    assert keyed["RememberAll"] == "items"
    assert {"Remember", "CaptureMemory", "LearnLesson", "Supersede", "Retract", "Erase", "ReviseRecords"} <= set(keyed)
    variables: dict[str, Any] = {"input": {"items": [{}, {"idempotencyKey": None}, {"idempotencyKey": "mine"}]}}
    add_keys(variables, OPERATIONS["RememberAll"])
    keys = [one["idempotencyKey"] for one in variables["input"]["items"]]
    assert keys[2] == "mine"
    assert len({*keys, None}) == 4
    unkeyed = {name for name, one in OPERATIONS.items() if not may_repeat(name, one)}
    assert unkeyed == {"DropCapture", "LearnAgain", "RetireLessons", "RetryCapture", "UndoRun"}


def test_a_document_of_the_callers_own_is_repeated_only_with_keys() -> None:
    key = {"idempotencyKey": "k"}
    assert has_keys({"input": key})
    assert has_keys({"input": {"items": [key, key]}, "other": "x"})
    assert has_keys({"input": {"items": [{}], "idempotencyKey": "k"}})
    without: list[dict[str, Any]] = [
        {},
        {"id": "1"},
        {"input": {}},
        {"input": {"items": [key, {}]}},
        {"a": key, "b": {}},
    ]
    assert [one for one in without if has_keys(one)] == []


def test_reads_that_take_a_sequence_get_the_carried_one_unless_the_caller_named_another() -> None:
    taking = {name for name, one in OPERATIONS.items() if one.sequence is not None}
    reads = {"Recall", "RetrieveGraph", "WhyNot", "ExplainPath", "Impact", "RelatedEntities", "Expand"}
    assert taking >= reads | {"PlanGraph", "PlansContaining"}
    for name in taking:
        given_: dict[str, Any] = {"input": {}}
        assert add_sequence(given_, OPERATIONS[name], None) is None
        assert add_sequence(given_, OPERATIONS[name], "s") is not None
        assert "'atLeastSequence': 's'" in str(given_)
        assert add_sequence(given_, OPERATIONS[name], "other") is None


def test_every_document_has_the_fragments_that_it_spreads() -> None:
    for name, operation in OPERATIONS.items():
        document = document_of(name)
        assert {one for one in FRAGMENTS if f"...{one} " in document} == set(operation.fragments)


def test_a_value_of_an_enum_that_the_client_does_not_know_is_kept() -> None:
    unknown = MemoryType("DREAM")
    assert (unknown.value, unknown == "DREAM", unknown in MemoryType.__members__.values()) == ("DREAM", True, False)
    assert MemoryType("SEMANTIC") is MemoryType.SEMANTIC


def test_an_answer_that_does_not_fit_is_an_error_without_its_values() -> None:
    with pytest.raises(StratagraphError) as failed:
        read(RecordByHandleData, {"recordByHandle": {"id": ["a secret"]}})
    assert "recordByHandle.id" in str(failed.value)
    assert "secret" not in str(failed.value)
    assert failed.value.__context__ is None or "secret" not in repr(failed.value.__cause__)


@pytest.mark.parametrize(
    ("status", "class_", "retryable"),
    [(429, RateLimited, True), (503, Unavailable, True), (401, Unauthenticated, False), (404, Unavailable, False)],
)
def test_the_answer_of_a_proxy_is_told_by_its_status(
    status: int, class_: type[StratagraphError], retryable: bool
) -> None:
    with pytest.raises(class_) as failed:
        data_of(AnswerBody(status, "7", b"<html>"))
    assert failed.value.retryable is retryable
    assert failed.value.retry_after == (7.0 if retryable else None)
