"""Hooks are added to the settings of coding agents, and taken away, without another byte changing."""

from __future__ import annotations

import json
import random
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.service.hooks.entries import Hook, command_of, installed, with_hooks, without_hooks
from stratagraph.service.hooks.json_text import read
from stratagraph.store.model.errors import InvalidInput

PROGRAM = "/opt/a b/python"
HOOKS = [
    Hook(
        event="SessionStart",
        command=command_of(PROGRAM, "claude-code", "session-start", {"data-dir": "/var/it's here"}),
        timeout_s=5,
        matcher="startup|clear",
    ),
    Hook(event="SessionEnd", command=command_of(PROGRAM, "claude-code", "session-end", {}), timeout_s=5),
]
EVENTS = st.sampled_from(["SessionStart", "SessionEnd", "Stop", "PreToolUse"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
COMMANDS = st.sampled_from(
    [
        "echo hi",
        "/usr/bin/stratagraph-like hooks",
        'python3 "a b".py',
        "stratagraph serve",
        "x -m stratagraph.service.hooksrun a b",
    ]
)
GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(st.fixed_dictionaries({"type": st.just("command"), "command": COMMANDS}), max_size=2)},
    optional={"matcher": st.sampled_from(["", "Bash", "startup"])},
)
SETTINGS = st.builds(
    lambda before, hooks, after: {**before, **({"hooks": hooks} if hooks is not None else {}), **after},
    st.dictionaries(st.sampled_from(["permissions", "env", "model", "Ünï"]), JSON, max_size=3),
    st.none() | st.dictionaries(EVENTS, st.lists(GROUPS, max_size=2), max_size=3),
    st.dictionaries(st.sampled_from(["statusLine", "x"]), JSON, max_size=2),
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw the text of a settings file, with any indentation, or random spaces and comments between its tokens."""
    value = draw(SETTINGS)
    if draw(st.booleans()):
        text = json.dumps(
            value,
            indent=draw(st.sampled_from([None, 2, 4, "\t"])),
            ensure_ascii=draw(st.booleans()),
        )
        text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
        return draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n", "\n\n"]))
    return scattered(value, random.Random(draw(st.integers())))


def scattered(value: Any, chance: random.Random) -> str:
    def space() -> str:
        return chance.choice(["", "", " ", "\n", "\n  ", "\t", "\r\n", " // a, b }\n", "/* ] , */"])

    def end(is_empty: bool) -> str:
        return f"{space()},{space()}" if not is_empty and chance.random() < 0.2 else space()

    if isinstance(value, dict):
        inner = [
            f"{space()}{json.dumps(name)}{space()}:{space()}{scattered(one, chance)}{space()}"
            for name, one in value.items()
        ]
        return f"{{{','.join(inner)}{end(not inner)}}}"
    if isinstance(value, list):
        inner = [f"{space()}{scattered(one, chance)}{space()}" for one in value]
        return f"[{','.join(inner)}{end(not inner)}]"
    return json.dumps(value)


@given(text=st.none() | st.sampled_from(["", " ", "\n\n", "{}", "{\n}\n", ' { "hooks" : { } } ']) | texts())
def test_installing_and_uninstalling_leaves_the_file_as_it_was(text: str | None) -> None:
    once = with_hooks(text, HOOKS)
    assert installed(once) == {hook.event: hook.command for hook in HOOKS}
    assert with_hooks(once, HOOKS) == once
    assert without_hooks(once) == text
    if text is not None and text.strip():
        # Whatever was there is there still, and in its order.
        before, after = read(text).as_value(), read(once).as_value()
        assert without(after) == without(before)
        assert [name for name in after if name in before] == list(before)
    moved = [Hook(event=one.event, command=one.command.replace("/opt", "/usr"), timeout_s=9) for one in HOOKS]
    assert without_hooks(with_hooks(once, moved)) == text, "other options take the place of the first ones"


def without(settings: dict[str, Any]) -> Any:
    """Return settings without Stratagraph's groups, and without lists that are empty then."""
    hooks = {
        event: [group for group in groups if "stratagraph.service.hooks run" not in json.dumps(group)]
        for event, groups in settings.get("hooks", {}).items()
    }
    return {**settings, "hooks": {event: groups for event, groups in hooks.items() if groups}}


@given(texts=st.tuples(texts(), GROUPS, EVENTS))
def test_what_was_added_after_the_installation_stays(texts: tuple[str, dict[str, Any], str]) -> None:
    text, group, event = texts
    value = read(with_hooks(text, HOOKS)).as_value()
    value["hooks"].setdefault(event, []).append(group)
    value["hooks"]["SessionStart"][-1]["hooks"].insert(0, {"type": "command", "command": "theirs"})
    value["later"] = [1]
    left = without_hooks(json.dumps(value, indent=3))
    assert left is not None
    found = read(left).as_value()
    assert installed(left) == {}
    assert found["later"] == [1]
    assert group in found["hooks"][event]
    assert "theirs" in json.dumps(found["hooks"]["SessionStart"])
    assert {name for name in found if name != "hooks"} == {name for name in value if name != "hooks"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,\n "b" 2}', "line 2"),
        ('{"a": 1', "comma or }"),
        ("[1]", "must be a JSON object"),
        ('{"hooks": []}', "`hooks` must be"),
        ('{"hooks": {"Stop": {}}}', "`hooks.Stop` must be a list"),
        ('{"a": 1, "a": 2}', "twice"),
        ("{}{}", "nothing may follow"),
        ('{"a": "b\n"}', "a text does not end"),
        ("[" * 300, "levels deep"),
        ("{a: 1}", "double quotes"),
    ],
)
def test_broken_settings_are_refused_with_the_place(text: str, said: str) -> None:
    for change in (partial(with_hooks, text, HOOKS), partial(without_hooks, text)):
        with pytest.raises(InvalidInput, match="(?s)" + said.replace("{", r"\{").replace("}", r"\}")):
            change()


@given(JSON)
def test_json_is_read_as_python_reads_it(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
        assert json.dumps(read(text).as_value()) == json.dumps(value)
