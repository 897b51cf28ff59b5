"""The lines of an export: each is read as it was written, and equal lines are equal bytes."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from strategies import audit_entries, json_values, records, relations, texts, times

from stratagraph.store.model.enums import MemoryType, Outcome, RecordState, Sensitivity
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import (
    ArtifactLine,
    ArtifactPartLine,
    ArtifactUse,
    AuditLine,
    Content,
    EndLine,
    EpisodeForm,
    FactForm,
    HeaderLine,
    LessonForm,
    LifecycleForm,
    Line,
    PastVersion,
    Period,
    PredicateLine,
    RecordLine,
    RecordPartLine,
    RelationLine,
    TombstoneLine,
    TrimForm,
    line_bytes,
    parse_line,
)

EXAMPLES = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
hashes = st.binary(min_size=32, max_size=32).map(bytes.hex)
bounds = st.none() | times
counts = st.integers(0, 2**40)
periods = st.builds(Period, start=bounds, end=bounds) | st.just(Period(empty=True))


@st.composite
def audits(draw: DrawFn) -> AuditLine:
    entry = draw(audit_entries())
    return AuditLine(
        action=entry.action,  # type: ignore[arg-type]  # a text that is one of its words
        actor=entry.actor,
        at=entry.timestamp,
        rationale=entry.rationale,
        salience=draw(st.none() | st.floats(0, 1)),
        sensitivity=draw(st.none() | st.sampled_from(Sensitivity)),
    )


def several(items: SearchStrategy[Any], size: int = 2) -> SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=size).map(tuple)


@st.composite
def record_lines(draw: DrawFn) -> RecordLine:
    one = draw(records())
    lifecycle = one.lifecycle
    assert lifecycle is not None
    assert one.payload is not None
    assert one.provenance is not None
    content = Content(
        name=one.name or "",
        text=one.text or "",
        payload=one.payload,
        provenance=one.provenance,
        interpretation=one.interpretation,
        learned_state=draw(st.none() | st.dictionaries(texts, json_values(), max_size=2)),
    )
    past = st.builds(
        PastVersion,
        from_at=times,
        to_at=times,
        version=st.integers(1, 9),
        state=st.sampled_from(RecordState),
        sensitivity=st.sampled_from(Sensitivity),
        confidence=st.floats(0, 1),
        occurred_at=times,
        content=st.just(content),
        tags=several(texts),
        validity=st.none() | periods,
    )
    trims = st.builds(TrimForm, by=st.uuids(), side=st.sampled_from(["start", "end"]), at=times)
    fact = st.builds(
        FactForm,
        validity=periods,
        stated=periods,
        evidence_at=times,
        single_valued=st.booleans(),
        subject_entity=st.none() | st.uuids(),
        trims=several(trims),
    )
    episode = st.builds(
        EpisodeForm,
        opened_at=times,
        closes_at=times,
        closed_at=bounds,
        outcome=st.none() | st.sampled_from(Outcome),
        members=several(st.uuids()),
        learned_stages=several(texts),
    )
    return RecordLine(
        id=one.id,
        type=one.type,
        scope=one.scope,
        sensitivity=one.sensitivity,
        state=one.state,
        version=one.version,
        confidence=one.confidence,
        tags=one.tags,
        created_at=one.created_at,
        occurred_at=one.occurred_at,
        updated_at=one.updated_at,
        content=content,
        lifecycle=LifecycleForm(
            s=lifecycle.s,
            t0=lifecycle.t0,
            curve=lifecycle.decay.curve,
            half_life_s=lifecycle.decay.half_life_s,
            min_salience=lifecycle.decay.min_salience,
            max_age_s=lifecycle.decay.max_age_s,
            reinforcement_gain=lifecycle.decay.reinforcement_gain,
            params=lifecycle.decay.params,
            pinned=lifecycle.pinned,
            deletion_policy=lifecycle.deletion_policy,
            last_reinforced_at=lifecycle.last_reinforced_at,
        ),
        fact=draw(fact) if one.type is MemoryType.SEMANTIC else None,
        episode=draw(episode) if one.type is MemoryType.EPISODIC else None,
        lesson=draw(st.none() | st.builds(LessonForm, authors=several(texts), retrievals=counts)),
        named_times=draw(several(periods)),
        artifacts=draw(several(st.builds(ArtifactUse, sha256=hashes, media_type=st.none() | texts))),
        history=draw(several(past)),
        audit=draw(several(audits())),
    )


@st.composite
def relation_lines(draw: DrawFn) -> RelationLine:
    one = draw(relations())
    return RelationLine(
        id=one.id,
        source=one.source,
        target=one.target,
        predicate=one.predicate,
        weight=one.weight,
        created_at=one.created_at,
        ended_at=draw(bounds),
    )


LINES: SearchStrategy[Line] = st.one_of(
    st.builds(
        HeaderLine,
        artifacts=st.booleans(),
        scopes=st.none() | several(texts),
        types=st.none() | several(st.sampled_from(MemoryType)),
    ),
    st.builds(
        PredicateLine, predicate=texts, single_valued=st.booleans(), object_kind=st.sampled_from([None, "entity"])
    ),
    st.builds(ArtifactLine, sha256=hashes, size_bytes=counts, parts=counts),
    st.builds(ArtifactPartLine, data=texts),
    record_lines(),
    st.builds(RecordPartLine, id=st.uuids(), audit=several(audits())),
    relation_lines(),
    st.builds(
        TombstoneLine,
        id=st.uuids(),
        type=st.sampled_from(MemoryType),
        sensitivity=st.sampled_from(Sensitivity),
        cause=st.sampled_from(["pruned", "deleted", "erased"]),
        at=times,
        scope=texts,
        entities=several(st.uuids()),
        audit=several(audits()),
    ),
    st.builds(EndLine, counts=st.dictionaries(st.sampled_from(["record", "relation"]), counts), sha256=hashes),
)


@given(line=LINES)
@EXAMPLES
def test_a_line_is_read_as_it_was_written(line: Line) -> None:
    written = line_bytes(line)
    assert written.index(b"\n") == len(written) - 1
    again = parse_line(written)
    assert again == line
    assert line_bytes(again) == written


@given(line=record_lines())
@EXAMPLES
def test_the_order_of_keys_does_not_change_the_bytes(line: RecordLine) -> None:
    written = line_bytes(line)

    def reversed_keys(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: reversed_keys(value[key]) for key in reversed(value)}
        return [reversed_keys(item) for item in value] if isinstance(value, list) else value

    other = orjson.dumps(reversed_keys(orjson.loads(written)))
    assert line_bytes(parse_line(other)) == written


@given(line=record_lines(), data=st.data())
@EXAMPLES
def test_an_unknown_key_anywhere_in_the_envelope_is_refused_by_its_path(line: RecordLine, data: st.DataObject) -> None:
    document = json.loads(line_bytes(line))
    inside = data.draw(st.sampled_from([name for name in ("lifecycle", "fact", "episode") if name in document] + [""]))
    (document[inside] if inside else document)["colour"] = "blue"
    with pytest.raises(InvalidInput) as refused:
        parse_line(orjson.dumps(document))
    assert list(refused.value.path or []) == [*([inside] if inside else []), "colour"]


@given(line=LINES, data=st.data())
@EXAMPLES
def test_a_line_that_is_cut_off_is_refused(line: Line, data: st.DataObject) -> None:
    written = line_bytes(line).rstrip(b"\n")
    with pytest.raises(InvalidInput):
        parse_line(written[: data.draw(st.integers(0, len(written) - 1))])


def test_a_file_of_another_format_or_version_is_named() -> None:
    with pytest.raises(InvalidInput, match="version 2"):
        parse_line(b'{"kind":"header","format":"stratagraph","version":2}')
    with pytest.raises(InvalidInput, match="`stratagraph export`"):
        parse_line(b'{"kind":"header","format":"other","version":1}')
    with pytest.raises(InvalidInput, match="'recrd' is none of"):
        parse_line(b'{"kind":"recrd"}')
