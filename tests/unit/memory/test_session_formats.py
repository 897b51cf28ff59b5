"""Session files of coding agents: what was said and done is read the same from each, and from each beginning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import SESSION, WRITERS, atif, claude_code, codex

from stratagraph.memory.imports.conversation import Called, Conversation, Returned, Said, Step
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.formats.codex import shell_result
from stratagraph.memory.imports.formats.known import format_of
from stratagraph.memory.imports.formats.sessions import BY_PROGRAM, COPIES, SUMMARIES, typed_by_user
from stratagraph.memory.imports.trace_files import Document, read_documents
from stratagraph.store.model.errors import InvalidInput

SAMPLES = Path(__file__).parents[2] / "data" / "traces"

CHARACTERS = "abc yz019.,:/\n\t\"'\\{}[]<>`#äßé日本\u2028\u200b\ufffd😀"
texts = st.text(CHARACTERS, min_size=1, max_size=40).filter(
    lambda text: bool(text.strip()) and typed_by_user(text) == text and shell_result(text) == (text, None)
)
names = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | texts, lambda one: st.lists(one, max_size=2)
)
arguments = st.dictionaries(names, values, max_size=2)


@st.composite
def conversations(draw: st.DrawFn) -> list[Step]:
    """Steps of a conversation: turns of the user, and of the model with calls side by side and their results."""
    steps: list[Step] = []
    number = 0
    for turn in range(draw(st.integers(1, 5))):
        if turn == 0 or draw(st.booleans()):
            steps.append(Said(role="user", text=draw(texts)))
        calls = [
            Called(tool=draw(names), arguments=draw(arguments), turn=turn, id=f"call_{number + place}")
            for place in range(draw(st.integers(0, 3)))
        ]
        number += len(calls)
        if not calls or draw(st.booleans()):
            steps.append(Said(role="assistant", text=draw(texts)))
        steps += calls
        for call in draw(st.permutations(calls)):
            failed = draw(st.sampled_from([None, True, False]))
            steps.append(Returned(text=draw(texts), id=call.id, failed=failed))
    return steps


def read(document: Any) -> list[Conversation]:
    """The conversations of a document, read by the format that it has."""
    format_ = format_of(document, whole_file=isinstance(document, list))
    assert format_ is not None
    return list(format_.read(document, Reading))


def plain(steps: Sequence[Step]) -> list[Step]:
    """Steps without times, with turns numbered anew."""
    turns: dict[int, int] = {}
    found: list[Step] = []
    for step in steps:
        one: Step = replace(step, at=None)
        if isinstance(one, Called):
            one = replace(one, turn=turns.setdefault(one.turn, len(turns)))
        if isinstance(one, Returned):
            one = replace(one, tool=None)
        found.append(one)
    return found


def lines_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]


def is_beginning(first: Sequence[Conversation], whole: Sequence[Conversation]) -> bool:
    """Whether each conversation of `first` begins one of `whole`, by its id."""
    by_id = {one.id: one.steps for one in whole}
    return all(by_id[one.id][: len(one.steps)] == one.steps for one in first if one.steps)


@pytest.mark.parametrize("writer", WRITERS)
@given(steps=conversations())
def test_a_conversation_written_by_each_agent_is_read_as_the_same_steps(writer: str, steps: list[Step]) -> None:
    (one,) = read(WRITERS[writer](steps))
    assert one.id == SESSION
    assert plain(one.steps) == plain(steps)


@given(steps=conversations(), split=st.booleans())
def test_a_session_cut_after_any_line_is_a_beginning_of_the_whole(steps: list[Step], *, split: bool) -> None:
    for lines in (claude_code(steps, split=split), codex(steps), codex(steps, bare=True)):
        whole = read(lines)
        assert all(is_beginning(read(lines[:end]), whole) for end in range(1, len(lines) + 1))


@pytest.mark.parametrize("name", ["claude_code.jsonl", "claude_code_subagent.jsonl", "codex.jsonl", "codex_2025.jsonl"])
def test_a_sample_cut_after_any_line_is_a_beginning_of_the_whole(name: str) -> None:
    lines = lines_of(name)
    whole = read(lines)
    assert all(is_beginning(read(lines[:end]), whole) for end in range(1, len(lines) + 1))


@given(steps=conversations(), place=st.integers(0, 30))
def test_compaction_doubles_no_turn(steps: list[Step], place: int) -> None:
    lines = claude_code(steps)
    summary = {"role": "user", "content": "This session is being continued."}
    boundary = {"type": "system", "subtype": "compact_boundary", "sessionId": SESSION, "uuid": "b", "parentUuid": None}
    again = [line for line in lines if line.get("uuid")][:place]  # lines that are kept are written again
    continued = {"type": "user", "sessionId": SESSION, "uuid": "s", "isCompactSummary": True, "message": summary}
    (one,) = read([*lines, boundary, continued, *again])
    assert plain(one.steps) == plain(steps)
    assert (one.skipped[SUMMARIES], one.skipped[COPIES]) == (1, len(again))

    rollout = codex(steps)
    compacted = {"type": "compacted", "payload": {"message": "…", "replacement_history": [rollout[2]["payload"]]}}
    (one,) = read([*rollout, compacted])
    assert plain(one.steps) == plain(steps)
    assert one.skipped[SUMMARIES] == 1


@pytest.mark.parametrize("keeps_ids", [True, False])
def test_what_a_session_was_resumed_or_forked_with_is_not_doubled(*, keeps_ids: bool) -> None:
    steps: list[Step] = [Said(role="user", text="go"), Called(tool="look", arguments={}, turn=0, id="c")]
    steps.append(Returned(text="dark", id="c"))
    old = claude_code(steps)[1:]
    new = [{**old[0], "uuid": "n", "message": {"role": "user", "content": "further"}, "sessionId": "new"}]
    if keeps_ids:  # copies that name the session they come from
        found = {one.id: plain(one.steps) for one in read([*old, *new])}
        assert found == {SESSION: plain(steps), "new": [Said(role="user", text="further")]}
    else:
        copies = [{**line, "sessionId": "new", "forkedFrom": {"sessionId": SESSION}} for line in old]
        (one,) = read([*copies, *new])
        assert (one.id, one.steps) == ("new", [Said(role="user", text="further")])


def test_calls_of_one_message_in_several_lines_share_a_turn_and_a_repeated_call_is_one() -> None:
    (one, *_) = read(lines_of("claude_code.jsonl"))
    first = [step.turn for step in one.steps if isinstance(step, Called)][:3]
    assert first == [0, 0, 1]
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    head = {"type": "assistant", "sessionId": SESSION}
    lines = [{**head, "uuid": str(n), "message": {"id": "m", "role": "assistant", "content": [call]}} for n in (1, 2)]
    (again,) = read(lines)
    assert (len(again.steps), again.skipped[COPIES]) == (1, 1)


def test_the_sample_of_claude_code_keeps_what_was_said_and_done_and_counts_the_rest() -> None:
    main, subagent = read(lines_of("claude_code.jsonl"))
    assert main.tags == ("claude-code", "cwd:/home/ada/ferry", "branch:timetable", "version:2.1.40")
    said = [step.text for step in main.steps if isinstance(step, Said) and step.role == "user"]
    assert said == [
        "/effort high",
        "The ferry timetable prints winter departures in July. Please find out why and mend it.",
        "Mind that May still belongs to winter.",
        "How does the printed page look now?",
        "And does the tram have the same fault?",
    ]
    results = {step.id: step.failed for step in main.steps if isinstance(step, Returned)}
    assert results == {"toolu_1": None, "toolu_2": None, "toolu_3": True, "toolu_4": None, "toolu_5": False} | {
        "toolu_6": None
    }
    assert [len(step.attachments) for step in main.steps if isinstance(step, Said)].count(1) == 1
    assert subagent.id == f"{main.id}:sidechain-u0026"
    assert len(subagent.steps) == 4
    assert main.skipped[BY_PROGRAM] == 3
    assert main.unread["lines[].message.usage"] == 11
    (other,) = read(lines_of("claude_code_subagent.jsonl"))
    assert f"session:{main.id}" in other.tags
    assert f"session:{main.id}" in subagent.tags
    assert other.id == f"{main.id}:agent-a91c"


def test_the_samples_of_codex_have_exit_codes_and_no_header_of_the_program() -> None:
    (one,) = read(lines_of("codex.jsonl"))
    results = {step.id: (step.text, step.failed) for step in one.steps if isinstance(step, Returned)}
    assert results == {
        "call_1": ("src/vents.toml:3:open_at = 12\n", False),
        "call_2": ("ls: cannot access 'checks'\n", True),
        "call_3": ("Success. Updated src/vents.toml\n", False),
        "call_4": ("all checks passed", False),
    }
    users = [step.text for step in one.steps if isinstance(step, Said) and step.role == "user"]
    assert users == [
        "The vents open at 12 degrees instead of 21. Correct it and run the checks.",
        "Is the picture of the panel right?",
    ]
    assert [step.turn for step in one.steps if isinstance(step, Called)] == [0, 0, 1, 2, 3]
    (old,) = read(lines_of("codex_2025.jsonl"))
    assert old.id == "b5d0a3be-6c0f-4a53-92c4-1f5ac31f8e2d"
    assert old.began_at is not None
    assert len(old.steps) == 4


def test_events_of_codex_tell_what_was_said_only_where_no_item_does() -> None:
    lines = codex([Said(role="user", text="go"), Said(role="assistant", text="gone")])
    events = [{**line, "payload": {**line["payload"]}} for line in lines if line["type"] != "response_item"]
    for line in events:
        if line["payload"].get("type") == "assistant_message":
            line["payload"]["type"] = "agent_message"
    (one,) = read(events)
    assert plain(one.steps) == [Said(role="user", text="go"), Said(role="assistant", text="gone")]


def test_an_event_after_a_result_says_that_its_call_failed() -> None:
    steps: list[Step] = [Said(role="user", text="go"), Called(tool="patch", arguments={}, turn=0, id="c")]
    lines = codex([*steps, Returned(text="no such file", id="c")])
    lines.append({"type": "event_msg", "payload": {"type": "patch_apply_end", "call_id": "c", "success": False}})
    (one,) = read(lines)
    assert one.steps[-1] == replace(Returned(text="no such file", id="c", failed=True), at=one.steps[-1].at)


def sample(name: str) -> list[Conversation]:
    return read(json.loads((SAMPLES / name).read_text()))


def test_trajectories_of_swe_agents_have_their_commands_exit_codes_and_ends() -> None:
    (one,) = sample("swe_agent.traj")
    assert [step.tool for step in one.steps if isinstance(step, Called)] == ["find_file", "bash", "bash"]
    assert one.steps[0] == Said(role="user", text="Buoys to starboard are drawn red. Correct the colour.")
    assert (one.outcome, one.tags[1]) == (None, "instance:harbourmaster__buoys-17")  # submitted is not solved
    (mini,) = sample("mini_swe_agent.traj.json")
    assert [step.failed for step in mini.steps if isinstance(step, Returned)] == [True, False]
    assert (mini.outcome, mini.reason) == ("failure", "exit_status = LimitsExceeded")
    assert mini.steps[1] == replace(Said(role="assistant", text="THOUGHT: count the lines."), at=mini.steps[1].at)
    (calls,) = sample("mini_swe_agent_calls.traj.json")
    results = [(step.id, step.text, step.failed) for step in calls.steps if isinstance(step, Returned)]
    assert results == [("c1", "12 data/hives.csv", False), ("c2", "head: data: Is a directory", True)]


def test_an_atif_trajectory_has_its_subagents_beside_it_and_no_copied_context() -> None:
    main, child = sample("atif.json")
    assert (main.id, child.id) == ("run-204", "run-204:run-204-sub")
    assert [step.text for step in main.steps if isinstance(step, Said)].count("The lamp flickers. Find out why.") == 1
    assert main.steps[-1] == Said(role="environment", text="The keeper nods.")
    pictures = [one.uri for step in main.steps if isinstance(step, Returned) for one in step.attachments]
    assert pictures == ["images/meter.png"]


@pytest.mark.parametrize(
    ("document", "version"),
    [
        ([{**line, "version": "9.0.1"} for line in claude_code([Said(role="user", text="hi")])], "'9.0.1'"),
        ({**atif([Said(role="user", text="hi")]), "schema_version": "ATIF-v2.0"}, "'ATIF-v2.0'"),
    ],
)
def test_an_unknown_version_is_tried_and_reported(document: Any, version: str) -> None:
    (one,) = read(document)
    assert one.steps == [Said(role="user", text="hi")]
    assert any(reason.startswith(f"version {version}") for reason in one.skipped)


def test_a_line_that_is_still_being_written_is_left_for_later(tmp_path: Path) -> None:
    lines = claude_code([Said(role="user", text="one"), Said(role="assistant", text="two")])
    written = "".join(json.dumps(line) + "\n" for line in lines)
    path = tmp_path / "s.jsonl"
    found = []
    for cut in (0, 1, 30):
        path.write_text(written[: len(written) - cut])
        (document,) = read_documents(path)
        assert isinstance(document, Document)
        found.append((document.is_cut, [len(one.steps) for one in document.format.read(document.value, Reading)]))
    assert found == [(False, [2]), (False, [2]), (True, [1])]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda lines: lines[1].pop("message"), "lines.2.message"),
        (lambda lines: lines[1]["message"].update(content=7), "lines.2.message.content"),
        (lambda lines: lines[1].update(timestamp="yesterday"), "lines.2.timestamp"),
        (lambda lines: lines[2]["message"]["content"][0].pop("name"), "lines.3.message.content.0.name"),
        (lambda lines: lines[3]["message"]["content"][0].pop("tool_use_id"), "lines.4.message.content.0.tool_use_id"),
    ],
)
def test_a_damaged_line_is_named(change: Any, place: str) -> None:
    steps: list[Step] = [Said(role="user", text="go"), Called(tool="look", arguments={}, turn=0, id="c")]
    lines = claude_code([*steps, Returned(text="dark", id="c")])
    change(lines)
    with pytest.raises(InvalidInput, match=f"^{place}: "):
        read(lines)
