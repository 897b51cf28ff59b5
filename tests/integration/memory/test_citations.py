"""The citations of a rendering are those of its lines, and what an agent reports on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fix_memory import Memory, trust_of

from stratagraph.memory.feedback.request import OutcomeReport
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.rendering import CitationStyle
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.tokens import tokens_in
from stratagraph.store.model.enums import Outcome, Sensitivity


async def ask(memory: Memory, style: CitationStyle, budget: int | None) -> Retrieved:
    request = RetrieveRequest(
        task_descriptor="what does the parrot like?", token_budget=budget, citation_style=style, root_limit=30
    )
    return await memory.retrieve.retrieve(memory.trust, request)


@pytest.mark.parametrize("budget", [60, 200, 2_000])
@pytest.mark.parametrize("style", list(CitationStyle))
async def test_citations_are_the_records_of_the_lines(memory: Memory, style: CitationStyle, budget: int) -> None:
    for number in range(20):
        await memory.observe("parrot", "likes", f"the nut number {number} [{number}]")
    await memory.observe("parrot", "likes", "secret nuts", sensitivity=Sensitivity.HYPER)
    memory.trust = trust_of(ceiling=Sensitivity.HIGH)  # for which one record is redacted
    found = await ask(memory, style, budget)
    assert found.rendering is not None
    lines = found.rendering.splitlines()
    texts = {node.record.id: node.record.text for node in found.nodes if not node.record.redacted}
    assert tokens_in(found.rendering) <= budget
    assert len(set(found.citations)) == len(found.citations) == len(lines)
    for number, (id_, line) in enumerate(zip(found.citations, lines, strict=True), 1):
        citation = number if style is CitationStyle.NUMBER else id_
        shown = line.removesuffix(f" [{citation}]").partition(") ")[2].removesuffix("…")
        assert shown
        assert (texts[id_] or "").replace("[", "(").replace("]", ")").startswith(shown)


async def test_an_outcome_is_reported_on_what_was_cited(memory: Memory) -> None:
    for nut in ("hazelnuts", "walnuts", "peanuts"):
        await memory.observe("parrot", "likes", nut)
    memory.clock.forward(timedelta(days=30))
    found = await ask(memory, CitationStyle.NUMBER, 400)
    used = tuple(found.citations[number - 1] for number in (1, 3))
    report = OutcomeReport(retrieval=found.id, outcome=Outcome.SUCCESS, used=used)
    assert (await memory.feedback.report(memory.trust, report)).reinforced == used


async def test_without_a_budget_there_is_nothing_to_cite(memory: Memory) -> None:
    await memory.observe("parrot", "likes", "nuts")
    found = await ask(memory, CitationStyle.NUMBER, None)
    assert (found.rendering, found.citations) == (None, ())
    assert found.nodes
