"""Another spelling of a known key is refused, a likely slip is warned of, and a key of the caller's own is neither."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.capture.noting import meant_keys
from stratagraph.memory.requests.contents import CONTENTS, CaptureContext, EvidenceEntry, form_of
from stratagraph.memory.requests.keys import misspelt_keys, unread_keys
from stratagraph.memory.requests.warnings import WarningCode
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import PAYLOADS
from stratagraph.store.model.payloads.base import Part

DATA = Path(__file__).parents[4] / "shared" / "data"
_ALL: set[type[Part]] = {*CONTENTS.values(), *PAYLOADS.values(), EvidenceEntry, CaptureContext}
FORMS = sorted(_ALL, key=lambda form: form.__name__)
# Keys of messages, issues, alerts, commits, logs and forms, as programs of others write them.
ORDINARY = """action actor address amount annotations app attachments author body branch build category channel city
 code commit comment company count country created_at currency customer data date description details device_id duration
 email end environment event event_id event_type exit_code external_id extra file file_path first_name from function
 headers host http_status id image_url index input ip issue items job_id key labels language last_name latency_ms level
 line link location log logger message message_id metadata method model module name namespace node note notes number
 order_id org output owner page parent_id path payload phone pid platform points priority process product project
 properties pull_request query queue quantity reaction region release repo request_id response retries review role_id
 rows run_id score service session_id severity sha size source span_id stack start started_at status step steps stream
 table tag tags target task team temperature tenant thread_ts time timestamp title to token_count tokens total trace_id
 type updated_at uri url usage user user_id username value values version warnings week worker workspace year zone"""


def objects(form: type[Part]) -> Iterator[tuple[str, str]]:
    """Yield each key of the form, and how a misspelt one is refused."""
    for name, field in form.model_fields.items():
        yield field.alias or name, field.alias or name


@st.composite
def respelt(draw: st.DrawFn) -> tuple[type[Part], str, str]:
    """A form, a known key of it, and another spelling of the key."""
    form = draw(st.sampled_from(FORMS))
    known, _ = draw(st.sampled_from(list(objects(form))))
    words = [draw(st.sampled_from([word, word.upper(), word.capitalize()])) for word in known.split("_")]
    spelling = draw(st.sampled_from(["", "-", " ", "_", "."])).join(words)
    return form, known, spelling


@given(respelt())
def test_another_spelling_of_a_known_key_is_refused_with_the_right_one(case: tuple[type[Part], str, str]) -> None:
    form, known, spelling = case
    names = {name for name, _ in objects(form)} | set(form.model_fields)
    if spelling in names:
        assert misspelt_keys(form, {spelling: 1}, path=("content",)) == []
        return
    with pytest.raises(InvalidInput, match=rf"write {known}\b") as refused:
        misspelt_keys(form, {spelling: "x", "of my own": 2}, path=("content",))
    assert refused.value.path == ["content", spelling]
    # Where the known key is there too, nothing is lost, so the other one may be the caller's own.
    (one,) = misspelt_keys(form, {spelling: "x", known: "y"}, path=("content",))
    assert one.code is WarningCode.KEY_RESEMBLES_KNOWN
    assert one.path == ("content", spelling)
    # Nor is it a mistake of this request where the stored value has it.
    assert misspelt_keys(form, {spelling: "x"}, path=("content",), stored={spelling: "z"}) == []


@given(st.sampled_from(FORMS), st.data())
def test_one_letter_that_is_wrong_is_warned_of(form: type[Part], data: st.DataObject) -> None:
    known = data.draw(st.sampled_from([key for key, _ in objects(form) if len(key.replace("_", "")) > 4]))
    at = data.draw(st.integers(1, len(known) - 1))
    slip = known[:at] + known[at + 1 :]  # one left out, but not the first
    if slip.replace("_", "") == known.replace("_", "") or slip in form.model_fields:
        return
    (one,) = misspelt_keys(form, {slip: 1}, path=())
    assert one.code is WarningCode.KEY_RESEMBLES_KNOWN
    assert one.message.startswith(f"{slip}: ")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_keys_that_programs_of_others_use_are_neither_refused_nor_warned_of(form: type[Part]) -> None:
    own = dict.fromkeys(ORDINARY.split())
    given_too = own | dict.fromkeys(form.model_fields)
    assert misspelt_keys(form, given_too, path=("content",)) == []
    if form in CONTENTS.values():  # a payload without the keys that it needs is refused anyway
        assert misspelt_keys(form, own, path=("content",)) == []


def test_places_within_a_content_are_named() -> None:
    content = {
        "subject": "Ann",
        "predicate": "knows",
        "object": "Bo",
        "validity": {"mode": "timeboxed", "Start": "2026-01-01T00:00:00Z"},
        "evidence": [{"kind": "human", "ref": "x"}, {"sourceType": "user", "source_id": "y"}],
    }
    with pytest.raises(InvalidInput) as refused:
        misspelt_keys(CONTENTS[SourceKind.OBSERVATION], content, path=("content",))
    assert refused.value.path == ["content", "validity", "Start"]
    assert "content.evidence.1.sourceType: write source_type" in refused.value.message


def test_what_a_context_has_beyond_its_known_keys_is_warned_of() -> None:
    context = {"thread_id": "t", "mentions": ["Ann", {"name": "Bo", "role": "boss"}], "labels": ["a"]}
    found = unread_keys(CaptureContext, context, path=("context",))
    assert [(one.code, one.path) for one in found] == [
        (WarningCode.KEY_NOT_READ, ("context", "thread_id")),
        (WarningCode.KEY_NOT_READ, ("context", "mentions", "1", "role")),
    ]


@pytest.mark.parametrize(
    ("kind", "content", "keys"),
    [
        (SourceKind.TOOL_OUTPUT, {"tool_name": "t", "arguments": {}, "output": 1}, ["arguments", "output"]),
        (SourceKind.TOOL_OUTPUT, {"tool_name": "t", "args": {}, "arguments": {}, "result": 1, "output": 2}, []),
        (SourceKind.AGENT_TURN, {"role": "user", "text": "x", "session_id": "s", "sensitivity": "HIGH"}, None),
        (SourceKind.EVENT, {"description": "x"}, ["description"]),
        (SourceKind.EVENT, {"description": "x", "text": "y"}, []),
        (SourceKind.OBSERVATION, {"valid_from": "2026-01-01", "policy": "REPLACE"}, ["valid_from", "policy"]),
        (SourceKind.EPISODE, {"session_id": "s"}, []),
    ],
)
def test_words_of_other_systems_are_warned_of(kind: SourceKind, content: Any, keys: list[str] | None) -> None:
    found = meant_keys(kind, content)
    assert [one.path[-1] for one in found] == (["session_id", "sensitivity"] if keys is None else keys)
    assert all(one.code is WarningCode.KEY_RESEMBLES_KNOWN for one in found)


def captures(data: Path) -> Iterator[tuple[SourceKind, dict[str, Any]]]:
    """Yield the messages and turns of real data as they are, as contents of the kinds that a program would choose."""
    for file in sorted([*data.glob("tau-airline/*.jsonl"), *data.glob("retail/*.jsonl")]):
        for line in file.read_text().splitlines():
            task = json.loads(line)
            yield SourceKind.EVENT, {key: value for key, value in task.items() if key != "messages"}
            for message in task["messages"]:
                yield SourceKind.AGENT_TURN, message
                yield SourceKind.EVENT, message
                for call in message.get("tool_calls") or ():
                    arguments = call["function"]["arguments"]
                    args = json.loads(arguments) if isinstance(arguments, str) else arguments
                    yield SourceKind.TOOL_OUTPUT, {**call, "tool_name": call["function"]["name"], "args": args}
                    yield SourceKind.EVENT, args  # what a tool is asked to do, as what happened
    for file in sorted([*data.glob("chats/*.json"), *data.glob("locomo/*.json"), *data.glob("memorybank/*.json")]):
        found = json.loads(file.read_text())
        talk = found.get("conversation", found)
        for session in talk.values():
            for turn in session if isinstance(session, list) else ():
                if isinstance(turn, dict):
                    yield SourceKind.AGENT_TURN, turn
                    yield SourceKind.EVENT, turn


@pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no real data at {DATA.name}")
def test_real_messages_are_neither_refused_nor_warned_of() -> None:
    seen: Counter[str] = Counter()
    for kind, content in captures(DATA):
        seen[kind.value] += 1
        for one in [*misspelt_keys(form_of(kind, None), content, path=("content",)), *meant_keys(kind, content)]:
            seen[f"warning: {kind.value} {one.path[-1]}"] += 1
    assert seen.total() > 10_000
    assert [name for name in seen if name.startswith("warning")] == []
