"""What models read of the MCP server: short, in one order, and true to what is checked."""

from __future__ import annotations

import json
import math
from typing import Any

import jsonschema
import mcp_types as types
import pytest
from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.service.mcp.arguments import checked
from stratagraph.service.mcp.definitions import BY_NAME, DEFINITIONS
from stratagraph.service.mcp.prompts import PROMPTS, prompt
from stratagraph.service.mcp.refusals import MAX_MESSAGE, Refused
from stratagraph.service.mcp.resources import TEMPLATES
from stratagraph.service.mcp.server import as_tool

TOKENS = 1_500  # of all definitions of tools
BYTES_OF_A_TOKEN = 3.5  # at least: tokenizers of two models make 4.2 of them
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def listed() -> list[types.Tool]:
    return [as_tool(one) for one in DEFINITIONS]


def on_the_wire(models: Any) -> str:
    dumped = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in models]
    return json.dumps(dumped, separators=(",", ":"), ensure_ascii=False)


def test_all_definitions_together_are_short() -> None:
    assert len(on_the_wire(listed()).encode()) / BYTES_OF_A_TOKEN <= TOKENS
    assert len((on_the_wire(TEMPLATES) + on_the_wire(PROMPTS)).encode()) / BYTES_OF_A_TOKEN <= TOKENS / 5


def test_there_are_the_eight_tools_and_a_text_or_a_query_is_enough() -> None:
    assert [one.name for one in DEFINITIONS] == [
        *("remember", "log_step", "recall", "explain", "correct", "forget", "report_outcome", "lessons")
    ]
    assert checked(BY_NAME["remember"], {"text": "x"}) == {"text": "x"}
    assert checked(BY_NAME["recall"], {"query": "x"}) == {"query": "x"}
    assert checked(BY_NAME["lessons"], None) == {}


def test_each_tool_says_when_to_call_it_and_what_it_does() -> None:
    for tool in listed():
        assert tool.description is not None
        assert "Call it" in tool.description
        assert tool.annotations is not None
        reads = tool.name in ("recall", "explain", "lessons")
        assert tool.annotations.read_only_hint is reads
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.destructive_hint is (None if reads else tool.name in ("correct", "forget"))
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)  # type: ignore[arg-type]  # every tool has both


@given(st.data())
@examples(400)
def test_arguments_are_refused_in_short_plain_words_or_fit_the_schema(data: st.DataObject) -> None:
    definition = data.draw(st.sampled_from(DEFINITIONS))
    names = st.sampled_from([*definition.arguments, "bogus"]) | st.text(st.characters(), max_size=8)
    wanted = st.sampled_from(["parrot", "success", "user", "01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e", 5, 5.0, True, ["a"]])
    sent = data.draw(st.dictionaries(names, wanted | ANY_JSON, max_size=6))
    said: str | None = None
    taken: dict[str, Any] = {}
    try:
        taken = checked(definition, sent)
    except Refused as error:
        said = error.message
    if said is not None:
        assert 0 < len(said) <= MAX_MESSAGE
        said.encode()  # no half of a surrogate pair is repeated
        return
    jsonschema.validate(taken, definition.input_schema())
    for name, value in taken.items():
        assert value == sent[name] or (isinstance(value, float) and math.isnan(value)) or isinstance(value, dict | list)


@pytest.mark.parametrize(
    ("tool", "sent", "said"),
    [
        ("recall", {}, "query is missing; give a text (question or task)."),
        ("recall", {"querry": "x"}, "recall has no argument 'querry'. Did you mean query? It has query, limit"),
        ("recall", {"query": 3}, "query must be a text, not 3 (question or task)."),
        ("recall", {"query": " \n"}, "query is blank; give some text"),
        ("recall", {"query": "x", "limit": 0}, "limit must be an integer from 1 to 50, not 0."),
        ("recall", {"query": "x", "limit": "many"}, "limit must be an integer from 1 to 50, not 'many'."),
        ("recall", {"query": "x", "limit": True}, "limit must be an integer from 1 to 50, not True."),
        ("explain", {"id": "7"}, "id: '7' is no id; take it from the answer of an earlier call"),
        ("report_outcome", {"outcome": "good"}, "outcome must be one of success, failure, partial, not 'good'."),
        ("report_outcome", {"outcome": "success", "used_ids": ["x"]}, "used_ids: 'x' is no id;"),
        ("remember", {"text": "x" * 100_001}, "text has 100,001 characters; give at most 100,000"),
        ("remember", {"text": "x", "tags": ["x"] * 51}, "tags has 51 items; give at most 50."),
        ("remember", {"text": "x", "tags": [1]}, "tags must be a list of texts; one of its items is 1."),
        ("remember", {"text": "a\ud800"}, "The arguments cannot be sent: give Unicode without halves"),
        ("remember", {"text": "a\0"}, "text contains the character U+0000"),
        ("log_step", {"tool": "x", "args": {"n": 2**64}}, "The arguments cannot be sent"),
        ("log_step", {"tool": "x", "args": {"n": "x" * 600_000}}, "The arguments have 600,0"),
    ],
)
def test_a_refusal_names_the_argument_and_says_what_to_do(tool: str, sent: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused) as refused:
        checked(BY_NAME[tool], sent)
    assert refused.value.message.startswith(said)


def test_prompts_name_only_tools_that_there_are() -> None:
    for one in PROMPTS:
        text = prompt(one.name, {}).messages[0].content.text  # type: ignore[union-attr]  # all are texts
        named = set(text.split("`")[1::2])
        assert named
        assert named <= BY_NAME.keys()
    with pytest.raises(Refused, match="There is no prompt 'x'; there are use_memory, reflect"):
        prompt("x", None)
