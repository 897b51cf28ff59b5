"""Questions with other forms of irregular English words than the records have."""

from __future__ import annotations

import pytest
from fix_memory import Memory

from stratagraph.memory.retrieve.request import RetrieveRequest

SAID = [
    ("Wu chose the servers of the new provider.", "Which servers did Wu choose?"),
    ("Dan and Mia met in Oslo about the warehouse.", "Where did Dan and Mia meet?"),
    ("Ella bought forty chairs for the office.", "What did Ella buy?"),
    ("The children of Hans went to the sea.", "Where did the child of Hans go?"),
]


@pytest.mark.parametrize(("said", "question"), SAID)
async def test_a_record_with_another_form_is_the_first_answer(memory: Memory, said: str, question: str) -> None:
    for text, _ in SAID:
        await memory.turn(text)
    found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor=question))
    best = found.nodes[0]
    assert (best.record.text or "").endswith(said)
    assert best.strength > 0.7
