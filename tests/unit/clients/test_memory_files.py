"""The files of Anthropic's memory tool answer every command as the SDK's own tool on a file system does."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph_client.frameworks.memory_files import MOST_FILES, MOST_TEXT, Entry, Refused, Tree, resolved

NAMES = st.sampled_from(["a", "b.txt", "A", "é", ".hidden", "d", "node modules"])
PATHS = st.lists(NAMES, max_size=3).map(lambda parts: "/".join(["/memories", *parts])) | st.sampled_from(
    [
        "/memories",
        "/memories/",
        "/memories/a/",
        "/memories//a",
        "/memories/d/../a",
        "/memories/./a",
        "/memoriesa",
        "a",
        "/memories/../x",
        "/memories/a/../../x",
        "/etc/passwd",
        "/memories/../memories/a",
    ]
)
WORDS = st.sampled_from(["one", "two", "Ünï", "\n", "\r\n", "\t", " ", ""])
TEXTS = st.lists(WORDS, max_size=6).map("".join)
COMMANDS = st.one_of(
    st.builds(
        lambda path, span: {"command": "view", "path": path, "view_range": span},
        PATHS,
        st.none() | st.tuples(st.integers(-2, 5), st.integers(-2, 6)).map(list),
    ),
    st.builds(lambda path, text: {"command": "create", "path": path, "file_text": text}, PATHS, TEXTS),
    st.builds(
        lambda path, old, new: {"command": "str_replace", "path": path, "old_str": old, "new_str": new},
        PATHS,
        TEXTS,
        TEXTS,
    ),
    st.builds(
        lambda path, line, text: {"command": "insert", "path": path, "insert_line": line, "insert_text": text},
        PATHS,
        st.integers(-1, 4),
        TEXTS,
    ),
    st.builds(lambda path: {"command": "delete", "path": path}, PATHS),
    st.builds(lambda old, new: {"command": "rename", "old_path": old, "new_path": new}, PATHS, PATHS),
)


class Kept:
    """A tree whose changes are applied, as the service would store them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def call(self, command: dict[str, Any]) -> str:
        change = Tree(self.entries).carry_out(command)
        gone = {one.path for one in change.removed} | {old.path for old, _ in change.replaced}
        self.entries = [one for one in self.entries if one.path not in gone]
        self.entries += [*change.new, *(new for _, new in change.replaced)]
        return change.answer


def outcome(call: Any, command: dict[str, Any]) -> str | None:
    """Return what a command answers; None for a fault of the file system, which has no text of its own."""
    try:
        return without_sizes_of_directories(str(call(command)))
    except (ToolError, Refused) as error:
        return f"refused: {error}"
    except (OSError, ValueError):
        return None


def without_sizes_of_directories(answer: str) -> str:
    """Leave out the sizes of directories, which a file system chooses."""
    if not answer.startswith("Here're the files"):
        return answer
    head, root, *lines = answer.split("\n")
    lines = [re.sub(r"^\S+\t(.*/)$", r"\t\1", line) for line in lines]
    return "\n".join([head, root.split("\t", 1)[1], *lines])


def is_missing(kept: Kept, command: dict[str, Any]) -> bool:
    """Return whether a command renames what does not exist; the SDK's tool makes directories for it all the same."""
    if command["command"] != "rename":
        return False
    try:
        return resolved(command["old_path"]) not in Tree(kept.entries).entries
    except Refused:
        return False


@settings(max_examples=300, deadline=None)
@given(commands=st.lists(COMMANDS, max_size=14))
def test_random_histories_of_commands_have_the_answers_of_the_sdks_own_tool(commands: list[dict[str, Any]]) -> None:
    kept = Kept()
    with tempfile.TemporaryDirectory() as folder:
        local = BetaLocalFilesystemMemoryTool(folder)
        for command in commands:
            if is_missing(kept, command):
                assert (outcome(kept.call, command) or "").startswith("refused: ")
                continue
            expected = outcome(local.call, command)
            if expected is None and made_directories(local, kept):
                return  # a fault that left directories behind: the histories differ from here
            found = outcome(kept.call, command)
            if expected is None:
                assert found is not None
                assert found.startswith("refused: ")
            else:
                assert found == expected, command


def made_directories(local: BetaLocalFilesystemMemoryTool, kept: Kept) -> bool:
    there = {path.relative_to(local.memory_root).parts for path in local.memory_root.rglob("*")}
    return there != {entry.path for entry in kept.entries}


@pytest.mark.parametrize(
    "path",
    [
        "/memories/../etc/passwd",
        "/etc/passwd",
        "/memories/a/../../..",
        "memories/a",
        "",
        "/memories/" + "a" * 1_001,
        "/memories/\x00",
        "/memories/\ud800",
    ],
)
def test_a_path_outside_of_the_directory_is_refused_and_changes_nothing(path: str) -> None:
    tree = Tree([Entry(path=("a",), text="one")])
    for command in refusing(path):
        with pytest.raises(Refused):
            tree.carry_out(command)


def refusing(path: str) -> Iterator[dict[str, Any]]:
    yield {"command": "view", "path": path}
    yield {"command": "create", "path": path, "file_text": "x"}
    yield {"command": "str_replace", "path": path, "old_str": "x", "new_str": "y"}
    yield {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"}
    yield {"command": "delete", "path": path}
    yield {"command": "rename", "old_path": path, "new_path": "/memories/b"}
    yield {"command": "rename", "old_path": "/memories/a", "new_path": path}


def test_files_are_bounded() -> None:
    full = Tree(Entry(path=(str(number),), text="") for number in range(MOST_FILES))
    for tree, text in ((full, "x"), (Tree([]), "x" * (MOST_TEXT + 1))):
        with pytest.raises(Refused, match=r"at most"):
            tree.carry_out({"command": "create", "path": "/memories/new", "file_text": text})
    assert Tree([]).carry_out({"command": "create", "path": "/memories/new", "file_text": "x" * MOST_TEXT}).new


def test_a_malformed_command_is_refused_with_the_name_of_the_parameter() -> None:
    for command, name in (
        ({"command": "view"}, "path"),
        ({"command": "create", "path": "/memories/a"}, "file_text"),
        ({"command": "insert", "path": "/memories/a", "insert_text": "x"}, "insert_line"),
        ({"command": "move"}, "move"),
    ):
        with pytest.raises(Refused, match=name):
            Tree([]).carry_out(command)
