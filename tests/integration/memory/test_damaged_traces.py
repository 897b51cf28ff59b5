"""Damaged files of recorded conversations are stored whole or refused, through the real import."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from fix_memory import Memory
from trace_samples import SAMPLES, documents_of, mutated, read_file, write_documents
from trace_writers import WRITERS, Call, Turn

from stratagraph.memory.imports.trace_captures import captures_of
from stratagraph.memory.imports.traces import import_traces

MUTATIONS = 200


async def test_damaged_conversations_are_stored_whole_or_refused(memory: Memory, tmp_path: Path) -> None:
    """Every capture of every conversation that is read is stored, and everything else is refused with a reason."""
    memory.clock.forward(datetime(2027, 1, 1, tzinfo=UTC) - memory.clock.now())  # the samples are of 2026
    random = Random(MUTATIONS)
    stored = refused = 0
    for number in range(MUTATIONS):
        sample = SAMPLES[number % len(SAMPLES)]
        documents, lines = documents_of(sample)
        file = tmp_path / sample.name.removesuffix(".gz")
        write_documents(file, mutated(documents, random)[0], lines=lines)
        read = read_file(file)
        summary = await import_traces(memory.capture, memory.trust, file, scope=f"file-{number}")
        assert len(summary.refused) == len(read.refused)
        assert all(one.reason.strip() for one in summary.refused)
        wanted = {
            (one.id, capture.place, capture.fingerprint)
            for one in read.conversations
            for capture in captures_of(one).captures
        }
        ends = {(one.id, one.outcome) for one in read.conversations if one.outcome is not None}
        assert summary.captured == len(wanted) + len(ends), (sample.name, summary)
        stored, refused = stored + summary.captured, refused + len(summary.refused)
    assert stored > 700
    assert refused > 30


@pytest.mark.parametrize("name", WRITERS)
async def test_the_character_that_the_database_cannot_store_is_replaced(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    call = Call(tool="note", arguments={"te\x00xt": "a\x00b", "list": [{"deep": "\x00"}]}, result="c\x00d")
    story = [Turn(role="user", text="x\x00y"), Turn(role="assistant", text="z", calls=(call,))]
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps(WRITERS[name][0](story)))
    summary = await import_traces(memory.capture, memory.trust, file)
    assert (summary.refused, summary.captured) == ([], 3)
