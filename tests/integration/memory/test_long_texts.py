"""What stands at the end of a long text is found, or the receipt says that it is not."""

from __future__ import annotations

import pytest
from fix_api import services_of
from fix_memory import Memory
from fix_words import count_all_words

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Supersede
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.words import MAX_TERMS

END = "The boiler was serviced by Hagstrom."
CAPTURE = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) { ... on CaptureMemorySuccess {
  receipt { unindexedTerms } } } }"""


def numbered(words: int) -> str:
    """Return different words of two terms each: the word and its number."""
    return " ".join(f"row{number}" for number in range(100, 100 + words))


@pytest.mark.parametrize("kind", ["result", "error", "turn", "episode"])
async def test_the_end_of_a_long_text_is_found_beside_short_texts_with_some_of_its_words(
    memory: Memory, kind: str
) -> None:
    long = f"{numbered(4_000)} {END}"
    if kind == "turn":
        captured = await memory.turn(long)
    elif kind == "episode":
        calls = [{"id": "1", "tool": "read_file", "args": {}, "result": long}]
        captured = await memory.remember(SourceKind.EPISODE, {"tool_graph": calls})
    else:
        captured = await memory.remember(SourceKind.TOOL_OUTPUT, {"tool_name": "read_file", kind: long})
    assert captured.unindexed_terms == 0
    for number in range(60):
        await memory.turn(f"the boiler {number} was serviced")
    await count_all_words(memory.database)
    found = await memory.retrieve.retrieve(
        memory.trust, RetrieveRequest(task_descriptor="who serviced the boiler, Hagstrom?", token_budget=300)
    )
    assert found.roots[0] == captured.primary.id
    phrase = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor='"serviced by Hagstrom"'))
    assert phrase.roots == (captured.primary.id,)


async def test_the_receipt_counts_the_terms_by_which_a_longer_text_is_not_found(memory: Memory) -> None:
    context = Context(memory.trust, services_of(memory))
    content = {"tool_name": "read_file", "result": f"{numbered(MAX_TERMS)} {END}"}
    given = {"source": "test", "sourceKind": "TOOL_OUTPUT", "content": content}
    result = await build_schema().execute(CAPTURE, variable_values={"input": given}, context_value=context)
    assert result.errors is None
    assert (result.data or {})["captureMemory"]["receipt"]["unindexedTerms"] > MAX_TERMS
    fact = await memory.observe("Kestrel", "has_rows", "few")
    payload = {
        "subject": "Kestrel",
        "predicate": "has_rows",
        "object": numbered(MAX_TERMS),
        "validity": {"mode": "global"},
    }
    evidence = ({"kind": "human", "ref": "ticket-7"},)
    revised = await memory.revise(
        Supersede(record_id=fact.primary.id, rationale="x", payload=payload, evidence=evidence)
    )
    assert revised.unindexed_terms > MAX_TERMS


async def test_the_receipt_counts_words_that_are_too_long_to_be_searched(memory: Memory) -> None:
    assert (await memory.turn(f"the key is {'a' * 65}, and short words are found")).unindexed_terms == 1
    assert (await memory.turn("short words are found")).unindexed_terms == 0
