"""Policy rules override the classifier and the caller (docs/specification.md, Capture)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fix_memory import Memory, trust_of

from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.store.model.enums import Access, DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.errors import Misconfigured


def with_rules(memory: Memory, path: Path, *rules: object) -> Memory:
    path.write_text(json.dumps({"rules": rules}))
    capture = Capture(memory.database, memory.directory, memory.clock, Policy.load(path))
    return replace(memory, capture=capture)


async def test_a_rule_sets_sensitivity_confidence_and_deletion_policy(memory: Memory, tmp_path: Path) -> None:
    ruled_memory = with_rules(
        memory,
        tmp_path / "policy.json",
        {
            "when": {"predicate": ["salary"]},
            "set": {"sensitivity": "high", "deletion_policy": "never", "confidence": 0.5},
        },
        {"when": {"predicate": ["salary"], "tag": ["public"]}, "set": {"sensitivity": "public"}},
    )
    kept = await ruled_memory.observe("Alice", "salary", 100_000)
    assert kept.primary.sensitivity is Sensitivity.HIGH
    assert kept.primary.confidence == 0.5
    assert kept.primary.lifecycle is not None
    assert kept.primary.lifecycle.deletion_policy is DeletionPolicy.NEVER
    assert (await ruled_memory.observe("Bob", "salary", 1, tags=("public",))).primary.sensitivity is Sensitivity.PUBLIC
    assert (await ruled_memory.observe("Alice", "likes", "tea")).primary.sensitivity is Sensitivity.LOW


async def test_a_record_raised_above_its_writers_ceiling_is_stored_and_returned_redacted(
    memory: Memory, tmp_path: Path
) -> None:
    ruled_memory = with_rules(
        memory, tmp_path / "policy.json", {"when": {"source": ["test"]}, "set": {"sensitivity": "high"}}
    )
    writer = trust_of(access=Access.WRITE, ceiling=Sensitivity.LOW)
    kept = await ruled_memory.turn("the launch code is 0000", trust=writer)
    assert kept.primary.redacted
    assert kept.primary.text is None
    assert kept.sequence
    assert await memory.lookup.record(writer, kept.primary.id) is None
    assert (await memory.lookup.records(writer)).records == ()
    (whole,) = (await memory.lookup.records(memory.trust)).records
    assert whole.text == "user: the launch code is 0000"
    assert whole.id != kept.primary.id, "a stand-in, so that its writer does not learn whether it was known"


async def test_a_fact_raised_above_its_writers_ceiling_is_updated_by_that_writer(
    memory: Memory, tmp_path: Path
) -> None:
    ruled_memory = with_rules(
        memory, tmp_path / "policy.json", {"when": {"predicate": ["salary"]}, "set": {"sensitivity": "hyper"}}
    )
    writer = trust_of(access=Access.WRITE, ceiling=Sensitivity.LOW)
    for value in (1, 1, 2):
        captured = await ruled_memory.observe("Alice", "salary", value, trust=writer, revision_policy="replace")
        assert captured.primary.redacted
    page = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.SEMANTIC]))
    states = {record.payload["object"]: record.state for record in page.records if record.payload}
    assert states == {1: RecordState.SUPERSEDED, 2: RecordState.ACTIVE}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "Invalid JSON"),
        ('{"rules": [{"when": {"colour": ["red"]}, "set": {}}]}', "colour"),
        ('{"rules": [{"when": {}, "set": {"sensitivity": "secret"}}]}', "sensitivity"),
        ('{"rules": [{"when": {}, "set": {"half_life_seconds": 0}}]}', "half_life_seconds"),
    ],
)
def test_an_invalid_policy_file_is_refused_with_the_wrong_field(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "policy.json"
    path.write_text(text)
    with pytest.raises(Misconfigured, match=expected):
        Policy.load(path)
    with pytest.raises(Misconfigured, match="cannot be read"):
        Policy.load(tmp_path / "none.json")
