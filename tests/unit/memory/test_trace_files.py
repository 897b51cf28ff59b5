"""Files of conversations: every way of writing them gives the same documents; what does not fit is told once."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.memory.imports.conversation import Said
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.lines import BytesRead
from stratagraph.memory.imports.trace_files import ENDINGS, Document, RefusedDocument, find_files, read_documents
from stratagraph.store.model.errors import InvalidInput

CONVERSATIONS = [
    {"id": f"c{number}", "messages": [{"role": "user", "content": f"hello {number}"}, {"role": "ai", "content": "hi"}]}
    for number in range(3)
]


def texts(path: Path) -> list[list[str]]:
    """What is said in each conversation of a file, of which nothing is refused."""
    found: list[list[str]] = []
    for document in read_documents(path):
        assert isinstance(document, Document), document
        conversations = document.format.read(document.value, Reading)
        found += [[step.text for step in one.steps if isinstance(step, Said)] for one in conversations]
    return found


def refusals(path: Path) -> list[RefusedDocument]:
    return [one for one in read_documents(path) if isinstance(one, RefusedDocument)]


LINES = "\n".join(json.dumps(one) for one in CONVERSATIONS)
MESSAGES = CONVERSATIONS[0]["messages"]


@pytest.mark.parametrize(
    ("text", "conversations"),
    [
        (LINES, 3),
        ("\ufeff" + LINES.replace("\n", "\r\n\r\n") + "\n", 3),
        (json.dumps(CONVERSATIONS), 3),
        (json.dumps(CONVERSATIONS, indent=1), 3),
        ("[\n" + ",\n".join(json.dumps(one) for one in CONVERSATIONS) + "\n]\n", 3),
        (json.dumps([one["messages"] for one in CONVERSATIONS]), 3),
        (json.dumps(CONVERSATIONS[0], indent=4), 1),
        (json.dumps(MESSAGES), 1),
        (json.dumps(MESSAGES, indent=2), 1),
        ("\n".join(json.dumps(one) for one in MESSAGES), 1),
    ],
)
def test_conversations_may_be_written_as_lines_arrays_documents_and_lines_of_messages(
    tmp_path: Path, text: str, conversations: int
) -> None:
    plain, packed = tmp_path / "t.json", tmp_path / "t.json.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    assert texts(plain) == texts(packed) == [[f"hello {number}", "hi"] for number in range(conversations)]


def test_the_files_of_a_directory_are_found_by_their_endings(tmp_path: Path) -> None:
    for name in ("a.json", "b/c.jsonl.gz", "b/d.TRAJ", "e.txt", ".f.json", "g.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = find_files([tmp_path / "e.txt", tmp_path, tmp_path / "a.json"])
    assert [str(file.relative_to(tmp_path)) for file in found] == ["e.txt", "a.json", "b/c.jsonl.gz", "b/d.TRAJ"]
    (tmp_path / "empty").mkdir()
    for path, words in ((tmp_path / "empty", ENDINGS[0]), (tmp_path / "none", "no such file")):
        with pytest.raises(InvalidInput, match=words):
            find_files([path])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("what is this?\nno json", "neither JSON nor JSON Lines"),
        ("{", "neither JSON nor JSON Lines"),
        (json.dumps({"a": 1}), "fits no known format; the nearest is"),
        ("\n".join(json.dumps({"messages": [{"content": "x"}]}) for _ in range(150)), "messages.0 has no `role`"),
        (json.dumps([{"messages": [{"role": "user"}]}] * 3), "messages.0 has no `content`"),
        ("7", "fits no known format; the nearest is"),
        ("[]", "nearest is chat completions, but it is a list without messages"),
        (json.dumps({"mesages": MESSAGES}), "nearest is chat completions, but it has no list `messages`"),
        (json.dumps({"contents": [{"role": "user", "prts": []}]}), "nearest is Gemini contents, but contents.0 has no"),
        (json.dumps({"conversations": [{"from": "human", "val": "x"}]}), "nearest is ShareGPT, but conversations.0"),
        (json.dumps({"schema_version": "ATIF-v1.7", "agent": {}}), "nearest is ATIF trajectory, but it has no list"),
        (json.dumps({"custom_id": "a", "result": {"message": MESSAGES[0]}}), "nearest is chat completions, but it has"),
    ],
)
def test_a_file_that_has_no_known_format_is_refused_once_with_the_nearest(
    tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "t.json").write_text(text)
    (refused,) = refusals(tmp_path / "t.json")
    assert reason in refused.reason


def test_a_compressed_file_that_is_cut_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.gz").write_bytes(gzip.compress(LINES.encode() * 100)[:-20])
    with pytest.raises(InvalidInput, match="cannot be read"):
        list(read_documents(tmp_path / "t.gz"))


BAD = st.sampled_from(['{"messages": 3}', "{not json", "[]", "null", '{"messages": [{"role": "user"}]}', '"x"', "{}"])
GOOD = st.sampled_from([json.dumps(one) for one in CONVERSATIONS])


@settings(deadline=None, max_examples=200)
@given(lines=st.lists(st.tuples(st.booleans(), GOOD, BAD), min_size=2, max_size=130))
def test_every_line_is_a_document_or_refused_by_its_number(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[bool, str, str]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.jsonl"
    path.write_text("\n".join(good if is_good else bad for is_good, good, bad in lines))
    found = list(read_documents(path))
    wanted = {f"line {number}": is_good for number, (is_good, _, _) in enumerate(lines, 1)}
    if any(wanted.values()):
        assert {one.place: isinstance(one, Document) for one in found} == wanted
    else:
        assert len(found) == 1
        assert isinstance(found[0], RefusedDocument)


def test_of_many_lines_without_a_format_before_the_first_good_one_the_first_hundred_are_listed(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("{}\n" * 130 + LINES)
    listed: list[Any] = refusals(tmp_path / "t.jsonl")
    assert [one.place for one in listed] == [*(f"line {number}" for number in range(1, 101)), ""]
    assert "30 further" in listed[-1].reason


def test_what_is_no_file_and_what_is_no_utf_8_is_refused_at_once(tmp_path: Path) -> None:
    pipe, wide = tmp_path / "pipe.json", tmp_path / "wide.json"
    os.mkfifo(pipe)
    wide.write_text(LINES, encoding="utf-16")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    for path, words in ((pipe, "no regular file"), (tmp_path / "zero.json", "no regular file"), (wide, "UTF-16")):
        with pytest.raises(InvalidInput, match=words):
            list(read_documents(path))


def test_a_half_surrogate_pair_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(
        '{"id": "\\ud800", "messages": []}\n' + LINES + '\n{"messages": [{"role": "\\udfff"}]}'
    )
    assert [one.place for one in refusals(tmp_path / "t.jsonl")] == ["line 1", "line 5"]


@pytest.mark.parametrize("packed", [False, True])
def test_the_bytes_of_a_file_are_counted_as_they_are_read(tmp_path: Path, packed: bool) -> None:
    text = "\n".join(json.dumps({"id": f"c{number}", "messages": MESSAGES}) for number in range(5_000)).encode()
    (tmp_path / "t.jsonl").write_bytes(gzip.compress(text, 0) if packed else text)
    read = BytesRead()
    counts = [read.take() for _ in read_documents(tmp_path / "t.jsonl", read)]
    assert sum(counts) + read.take() == (tmp_path / "t.jsonl").stat().st_size
    assert max(counts) < sum(counts) / 2  # so that a bar moves while a long file is read
