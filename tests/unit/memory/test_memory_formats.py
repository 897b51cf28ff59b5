"""Memories of other systems are read into one form, and damaged files are reported, whatever is wrong with them."""

from __future__ import annotations

import copy
import gzip
import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.lines import MAX_LINE
from stratagraph.memory.imports.memories.documents import FileRows, Notes, find_sources
from stratagraph.memory.imports.memories.form import Happening, Named, RefusedMemory, Statement, Thing
from stratagraph.memory.imports.memories.known import FORMATS, format_of
from stratagraph.memory.imports.memories.membrane import read_records
from stratagraph.memory.imports.memories.notes import read_notes
from stratagraph.store.model.errors import InvalidInput

SAMPLES = Path(__file__).parents[2] / "data" / "memories"
FILES = sorted(file for file in SAMPLES.iterdir() if file.is_file())


def read(file: Path, zone: str | None = None) -> tuple[list[Any], Reading]:
    reading = Reading(zone=ZoneInfo(zone) if zone else None)
    (source,) = find_sources([file])
    if isinstance(source, Notes):
        return list(read_notes(source, reading)), reading
    rows = FileRows(source)
    format_ = format_of(rows.beginning())
    return list(read_records(rows) if format_.read is None else format_.read(rows, reading)), reading


def statements(found: list[Any]) -> dict[str, Statement]:
    return {one.id: one for one in found if isinstance(one, Statement)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_sample_has_the_shape_of_one_format_only(file: Path) -> None:
    rows = FileRows(file).beginning()
    for row in rows:
        assert [one.key for one in FORMATS if one.difference(row) is None] == [format_of(rows).key]
    found, _ = read(file)
    assert found
    assert not [one for one in found if isinstance(one, RefusedMemory)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_says_the_same_as_json_lines_as_a_list_and_compressed(file: Path, tmp_path: Path) -> None:
    values = [row.value for row in FileRows(file) if not isinstance(row, RefusedMemory)]
    expected = Counter(map(repr, read(file)[0]))
    lines = tmp_path / "lines.jsonl.gz"
    lines.write_bytes(gzip.compress("\n\n".join(json.dumps(value) for value in values).encode()))
    assert Counter(map(repr, read(lines)[0])) == expected
    listed = tmp_path / "list.json"
    listed.write_text("\ufeff" + json.dumps(values, indent=1))
    assert Counter(map(repr, read(listed)[0])) == expected


def mutated(value: Any, chance: random.Random) -> Any:
    """Return a copy with one field dropped, renamed or of another value, or one element dropped, doubled or moved."""
    value = copy.deepcopy(value)
    holders = [one for one in _holders(value) if one]
    holder = chance.choice(holders) if holders else None
    wrong: list[Any] = [
        None,
        "",
        "x",
        0,
        -1,
        1e300,
        True,
        [],
        {},
        [None],
        {"a": []},
        "\x00",
        "9999-99-99",
        [[1]],
        "2024",
    ]
    if isinstance(holder, dict):
        name = chance.choice(list(holder))
        match chance.randrange(3):
            case 0:
                del holder[name]
            case 1:
                holder[f"{name}_"] = holder.pop(name)
            case _:
                holder[name] = chance.choice(wrong)
    elif isinstance(holder, list):
        place = chance.randrange(len(holder))
        match chance.randrange(4):
            case 0:
                del holder[place]
            case 1:
                holder.insert(0, holder[place])
            case 2:
                chance.shuffle(holder)
            case _:
                holder[place] = chance.choice(wrong)
    return value


def _holders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for one in value.values() if isinstance(value, dict) else value:
            yield from _holders(one)


def damaged(file: Path, chance: random.Random) -> bytes:
    """Return the bytes of a sample with one or two mutations, or cut off."""
    if chance.random() < 0.1:
        content = file.read_bytes()
        return content[: chance.randrange(len(content))]
    values = [row.value for row in FileRows(file) if not isinstance(row, RefusedMemory)]
    is_lines = len(values) > 1
    whole: Any = values if is_lines else values[0]
    for _ in range(chance.randint(1, 2)):
        whole = mutated(whole, chance)
    return (
        "\n".join(map(json.dumps, whole)).encode() if is_lines and chance.random() < 0.5 else json.dumps(whole).encode()
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_damaged_files_are_read_or_refused_with_a_reason(file: Path, tmp_path: Path) -> None:
    chance = random.Random(file.name)
    path = tmp_path / file.name
    whole = {repr(one) for one in read(file)[0]}
    same = 0
    reasons: list[str] = []
    for _ in range(300):
        path.write_bytes(damaged(file, chance))
        try:
            found, _ = read(path)
        except InvalidInput as error:
            reasons.append(error.message)
            continue
        reasons += [one.reason for one in found if isinstance(one, RefusedMemory)]
        same += len({repr(one) for one in found} & whole) * 2 >= len(whole)
    assert all(reason.strip() for reason in reasons)
    assert same > 100, "most of a file with one mistake is read as before"


NOTES = sorted(SAMPLES.rglob("*.md"))


def test_damaged_notes_are_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    chance = random.Random(7)
    for number in range(600):
        text = list(NOTES[number % len(NOTES)].read_text())
        for _ in range(chance.randint(1, 6)):
            place = chance.randrange(len(text))
            text[place : place + chance.randrange(3)] = chance.choice(
                ["[[", "]]", "---\n", "#", "`", "\x00", ": ", "- [", ""]
            )
        path = tmp_path / "note.md"
        path.write_text("".join(text))
        for one in read(path)[0]:
            if isinstance(one, RefusedMemory):
                assert one.reason.strip()


def test_a_file_of_no_format_names_the_nearest_one_and_the_first_difference(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"namespace": ["a"], "key": "k", "val": {}}]))
    with pytest.raises(InvalidInput, match="nearest is LangGraph store, but it has no `value` that is an object"):
        read(path)
    path.write_text("no json")
    with pytest.raises(InvalidInput, match="neither JSON nor JSON Lines"):
        read(path)
    with pytest.raises(InvalidInput, match="use one of letta, server-memory"):
        format_of([{}], "mem1")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"results": [{"id": "1", "memry": "x", "user_id": "a"}]}, "mem0, but `results.0` has no `memory`"),
        ([{"id": "1", "memry": "x", "user_id": "a"}], "mem0, but it has no `memory`"),
        ([{"id": "1", "memory_id": "x", "evnt": "ADD"}], "mem0, but it has no `event`"),
        ({"agents": [{"nme": "x", "block_ids": []}], "blocks": []}, "Letta agent file, but its first agent has no"),
        ({"nodes": [{"uid": "1", "group_id": "g", "labels": []}]}, "Graphiti, but it has no `uuid`"),
        ([{"type": "entity", "name": "x", "observations": []}], "MCP server-memory, but it has neither `entityType`"),
        ([{"id": "1", "payload": {}, "lifecycle": {}}], "Membrane records, but it has no `sensitivity`"),
    ],
)
def test_the_nearest_format_is_one_that_has_fields_of_the_file(value: Any, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    with pytest.raises(InvalidInput, match=f"nearest is {reason}"):
        read(path)


def test_a_file_without_a_field_of_any_format_is_near_to_none(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for value in ({"some": [{"thing": 1}]}, [], 7, ["text"]):
        path.write_text(json.dumps(value))
        with pytest.raises(InvalidInput, match="fits no known format: it has no field of Letta agent file, MCP"):
            read(path)


@pytest.mark.parametrize("name", ["letta.af", "mem0.json"])
def test_a_file_that_is_the_text_of_its_json_says_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(json.dumps((SAMPLES / name).read_text()))
    found, reading = read(path)
    expected, counts = read(SAMPLES / name)
    assert found == expected
    assert (reading.unread, reading.skipped) == (counts.unread, counts.skipped)
    path.write_text(json.dumps("{no json}"))
    with pytest.raises(InvalidInput, match="neither JSON nor JSON Lines"):
        read(path)


def test_the_day_on_which_a_memory_expires_is_one_of_the_zone_or_of_utc(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    memory = {"id": "1", "memory": "Sings", "user_id": "u", "expiration_date": "2025-09-30"}
    path.write_text(json.dumps([memory]))
    for zone, hour in ((None, 0), ("America/New_York", 4)):
        (sings,) = read(path, zone)[0]
        assert sings.end == datetime(2025, 9, 30, hour, tzinfo=UTC)
    path.write_text(json.dumps([memory | {"expiration_date": "soon"}]))
    (refused,) = read(path)[0]
    assert "expiration_date: 'soon' is not an RFC 3339 time" in refused.reason


def test_a_memory_that_is_newer_than_its_history_goes_on_where_that_ends(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    first, last = "2025-01-01T00:00:00Z", "2025-02-01T00:00:00Z"
    change = {"memory_id": "1", "event": "ADD", "new_memory": "Sings", "created_at": first}
    memory = {"id": "1", "memory": "Hums", "user_id": "u", "created_at": first, "updated_at": last}
    path.write_text(json.dumps([change, memory | {"expiration_date": "2025-12-01"}]))
    told = [(one.id, one.subject.name, one.value, one.start, one.end) for one in read(path)[0]]
    days = [datetime(2025, month, 1, tzinfo=UTC) for month in (1, 2, 12)]
    assert told == [("memory:1@0", "u", "Sings", days[0], days[1]), ("memory:1", "u", "Hums", days[1], days[2])]


def test_a_history_of_changes_is_a_text_for_each_time_and_the_last_one_is_the_memory() -> None:
    found = statements(read(SAMPLES / "mem0_history.json")[0])
    told = {(one.id, one.value, one.start and one.start.year, one.end and one.end.month) for one in found.values()}
    assert told == {
        ("memory:m-77@0", "Lives in Porto", 2024, 9),
        ("memory:m-77", "Lives in Lisbon", 2024, None),
        ("memory:m-78", "Is learning to sail", 2024, 6),
    }


def test_an_edge_of_graphiti_holds_from_valid_at_until_it_is_invalid_or_expired() -> None:
    found = statements(read(SAMPLES / "graphiti.json")[0])
    assert (found["edge:ed-1"].start, found["edge:ed-1"].end) == (
        datetime(2019, 4, 1, tzinfo=UTC),
        datetime(2025, 1, 6, tzinfo=UTC),
    )
    assert (found["edge:ed-2"].end, found["edge:ed-2"].sources) == (None, ("episode:ep-1",))
    assert found["edge:ed-3"].end == datetime(2025, 2, 1, 10, 5, 1, tzinfo=UTC)
    exported = read(SAMPLES / "graphiti_neo4j.jsonl")[0]
    (episode,) = (one for one in exported if isinstance(one, Happening))
    assert [named.name for named in episode.about] == ["Teun Visser"]
    (edge,) = statements(exported).values()
    assert isinstance(edge.value, Named)
    assert (edge.subject.name, edge.predicate, edge.value.name) == ("Teun Visser", "STEERS", "Pilot boat 9")


def test_notes_say_their_properties_observations_relations_and_links() -> None:
    found, _ = read(SAMPLES / "notes")
    told = {
        (one.subject.name, one.predicate, one.value.name if isinstance(one.value, Named) else one.value)
        for one in statements(found).values()
    }
    hanneke = {fact[1:] for fact in told if fact[0] == "Hanneke Bos"}
    assert hanneke == {
        ("employer", "Delta Works"),
        ("cabin", 12),
        ("skill", "Reads radar plots"),
        ("mentors", "Rik"),
        ("links_to", "Delta Works"),
        ("links_to", "2025-02-03"),
        ("note", "Skipper of the [[Delta Works|delta]] survey ship. See also [the log](../journal/2025-02-03.md)."),
        ("note", "Habits: Drinks fennel tea on watch. #tea\n\n- [ ] buy new oilskins"),
    }
    assert ("2025-02-03", "links_to", "Hanneke Bos") in told
    (note,) = (one for one in found if isinstance(one, Thing) and one.named.name == "Hanneke Bos")
    assert (note.named.type, note.tags, note.at) == ("person", ("crew", "sailing"), datetime(2025, 1, 15, tzinfo=UTC))
    assert {"Hanneke", "H. Bos"} <= set(note.named.aliases)


def test_memories_of_mem0_are_read_in_the_spellings_of_its_libraries(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    results = [
        {"memory": "hums", "metadata": {"user_id": "eva", "mood": "calm"}, "hash": "0"},
        {"id": "2", "memory": "whistles", "userId": "eva", "createdAt": "2025-01-01T00:00:00Z"},
        {
            "id": "3",
            "payload": {"data": "sings", "user_id": "eva", "created_at": "2025-01-01T00:00:00Z"},
            "vector": [0.1],
        },
        {"id": "4", "memory": "shouts", "user_id": "eva", "event": "DELETE"},
    ]
    changes = {"5": [{"memory_id": "5", "event": "ADD", "new_memory": "claps", "user_id": "eva"}]}
    path.write_text(json.dumps({"results": results, "history": changes}))
    found, reading = read(path)
    assert {(one.subject.name, one.value) for one in found} == {
        ("eva", text) for text in ("hums", "whistles", "sings", "claps")
    }
    assert next(one for one in found if one.value == "hums").tags == ("user:eva", "mood:calm")
    assert reading.skipped["memories that were deleted"] == 1
    assert reading.unread == {}


def test_edges_of_graphiti_without_their_nodes_are_kept_as_their_texts(tmp_path: Path) -> None:
    graph = json.loads((SAMPLES / "graphiti.json").read_text())
    path = tmp_path / "edges.json"
    path.write_text(json.dumps(graph["edges"]))
    found, reading = read(path)
    assert {(one.subject.name, one.value) for one in found} == {("crew", edge["fact"]) for edge in graph["edges"]}
    assert reading.skipped["nodes of edges that are not in the file (the edge is kept as its text)"] == 3
    graph["edges"][0]["fact"] = ""
    path.write_text(json.dumps(graph["edges"]))
    assert [one.reason for one in read(path)[0] if isinstance(one, RefusedMemory)] == [
        "source_node_uuid: no node of the file has the uuid 'n-1'"
    ]


def test_fields_in_the_text_of_a_note_are_statements_and_code_is_text(tmp_path: Path) -> None:
    path = tmp_path / "Boat.md"
    code = "See `[[Nobody]]` and [x](Other%20Note.md?a=1#b).\n```\nkey:: 1\n```"
    path.write_text(f"length:: 9 m\n- owner:: [[Ada]]\n\n{code}\n")
    told = {
        (one.predicate, one.value.name if isinstance(one.value, Named) else one.value)
        for one in statements(read(path)[0]).values()
    }
    assert told == {("length", "9 m"), ("owner", "Ada"), ("links_to", "Other Note"), ("note", code)}


@pytest.mark.parametrize(
    ("begins", "problem"),
    [
        ("---\nboat: 1\ntitle: Boat: the red one\n---\n", "is no YAML: mapping values are not allowed here (line 3)"),
        ("---\ncreated: 2025-13-45\n---\n", "is no YAML: month must be in 1..12"),
        ("+++\ntitle = Boat\n+++\n", "is no TOML: "),
        (f"---\ntitle: {'x' * 70_000}\n---\n", "has 70007 characters"),
    ],
)
def test_a_note_whose_front_matter_is_broken_is_read_without_it(begins: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "Boat.md"
    path.write_text(f"{begins}Has a [[Mast]].\n- [rig] gaff\n")
    found, reading = read(path)
    told = {(one.subject.name, one.predicate) for one in statements(found).values()}
    assert told == {("Boat", "note"), ("Boat", "rig"), ("Boat", "links_to")}
    ((unread, times),) = reading.unread.items()
    assert unread.startswith(f"front matter (Boat.md: {problem}")
    assert times == 1
    path.write_text(begins)  # there is nothing else
    (refused,) = read(path)[0]
    assert refused.reason.startswith(f"front matter: {problem}")


def test_a_note_with_a_date_that_is_none_keeps_it_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "Trip.md"
    path.write_text("---\ndate: after the thaw\ncreated: 2025-03-01\nmodified: true\n---\nGo north.\n")
    found, _ = read(path)
    told = {(one.predicate, one.value) for one in statements(found).values()}
    assert told == {("date", "after the thaw"), ("modified", True), ("note", "Go north.")}
    assert {(one.at, one.changed_at) for one in found} == {(datetime(2025, 3, 1, tzinfo=UTC), None)}
    path.write_text("---\ndate: 2025-03-01T10:00:00\n---\nGo north.\n")
    (refused,) = read(path)[0]
    assert "--timezone" in refused.reason


def test_times_without_an_offset_are_those_of_the_zone_or_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps([{"id": "1", "memory": "Sings", "created_at": "2025-07-01T12:00:00", "user_id": "u"}]))
    (refused,) = read(path)[0]
    assert isinstance(refused, RefusedMemory)
    assert "--timezone" in refused.reason
    (sings,) = read(path, "Europe/Berlin")[0]
    assert isinstance(sings, Statement)
    assert sings.at == datetime(2025, 7, 1, 10, tzinfo=UTC)


def test_a_line_that_is_too_long_is_refused_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    long = json.dumps({"id": "1", "memory": "x" * MAX_LINE, "user_id": "u"})
    path.write_text(long + "\n" + json.dumps({"id": "2", "memory": "sings", "user_id": "u"}) + "\n" + long)
    tracemalloc.start()
    found, _ = read(path)
    _, held = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 3 * MAX_LINE
    assert [one.place for one in found if isinstance(one, RefusedMemory)] == ["line 1", "line 3"]
    assert [one.value for one in found if isinstance(one, Statement)] == ["sings"]


def fields_counted(change: Callable[[dict[str, Any]], None], tmp_path: Path) -> dict[str, int]:
    memory: dict[str, Any] = {"id": "1", "memory": "Sings", "user_id": "u"}
    change(memory)
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"results": [memory, memory]}))
    return dict(read(path)[1].unread)


def test_fields_that_are_not_read_are_counted_by_their_path(tmp_path: Path) -> None:
    assert fields_counted(lambda memory: memory.update(mood={"a": 1}), tmp_path) == {"results[].mood": 2}
    assert fields_counted(lambda memory: memory.update(metadata={"a": {"b": 1}, "c": 1}), tmp_path) == {
        "results[].metadata.a": 2
    }
