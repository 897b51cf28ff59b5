"""The samples of recorded conversations are read whole, and damaged ones are refused or counted, never half read."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from trace_samples import FOLDER, SAMPLES, documents_of, mutated, read_file, step_lines, write_documents

MUTATIONS = 2_000  # over all samples
STEPS = FOLDER.parent / "trace_steps"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_sample_is_read_without_a_refusal(sample: Path) -> None:
    found = read_file(sample)
    assert found.refused == []
    assert all(one.steps for one in found.conversations)
    assert found.conversations != []


@pytest.mark.parametrize("expected", sorted(STEPS.iterdir()), ids=lambda path: path.stem)
def test_a_sample_is_read_as_these_steps(expected: Path) -> None:
    lines = []
    for one in read_file(FOLDER / expected.stem).conversations:
        lines.append(f"# {one.id or '-'} {one.user or '-'} {one.outcome or '-'}")
        lines += [line for step in one.steps for line in step_lines(step)]
        lines += [f"  not kept: {name} × {times}" for name, times in sorted((one.skipped + one.unread).items())]
    assert lines == expected.read_text().splitlines()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_damaged_sample_is_read_or_refused_with_a_reason(sample: Path, tmp_path: Path) -> None:
    documents, lines = documents_of(sample)
    whole = read_file(sample)
    file = tmp_path / sample.name.removesuffix(".gz")
    random = Random(sample.name)
    for _ in range(-(-MUTATIONS // len(SAMPLES))):
        changed, moved = mutated(documents, random)
        write_documents(file, changed, lines=lines)
        found = read_file(file)
        assert all(reason.strip() for reason in found.refused)
        # What is still in the file under another name is read, refused, or counted as left out.
        told = found.text
        if not found.refused and any(one in whole.text and one not in told for one in moved):
            assert found.counts != whole.counts, moved


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_of_a_file_that_is_cut_off_no_conversation_is_read_in_part(sample: Path, tmp_path: Path) -> None:
    whole = read_file(sample)
    known = [one.steps for one in whole.conversations]
    data = sample.read_bytes()
    file = tmp_path / sample.name
    random = Random(sample.name)
    for _ in range(-(-MUTATIONS // len(SAMPLES) // 2)):
        file.write_bytes(data[: random.randrange(len(data))])
        found = read_file(file)
        for one in found.conversations:
            # Of lines that belong together, those before the cut are a conversation as it once was, and said to be cut.
            lines = [line for step in one.steps for line in step_lines(step)]
            is_earlier = whole.is_whole and (found.is_cut or all(line in whole.text for line in lines))
            assert one.steps in known or is_earlier
