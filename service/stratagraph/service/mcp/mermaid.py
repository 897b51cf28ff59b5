"""A plan as a flowchart in mermaid's language."""

from __future__ import annotations

from stratagraph.store.model.shown_text import shown_text
from stratagraph_client.operations.enums import PlanLinkKind
from stratagraph_client.operations.plan_graph import PlanGraphResult

MAX_LABEL = 120  # characters
_ENTITIES = str.maketrans({'"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\\": "#92;"})


def flowchart(plan: PlanGraphResult) -> str:
    """Return the steps and links of a plan. Data that a step hands on is a dotted arrow."""
    numbers = {step.id: f"s{number}" for number, step in enumerate(plan.steps)}
    lines = ["flowchart LR"]
    lines += [f'  {numbers[step.id]}["{_label(step.label or step.op)}"]' for step in plan.steps]
    for link in plan.links:
        if link.source in numbers and link.target in numbers:
            arrow = "-.->" if link.kind is PlanLinkKind.DATA else "-->"
            lines.append(f"  {numbers[link.source]} {arrow} {numbers[link.target]}")
    return "\n".join(lines)


def _label(text: str) -> str:
    """Return a text that mermaid shows as it is and reads as nothing else."""
    shown = " ".join("".join(one if one.isprintable() else " " for one in shown_text(text)).split())
    return (shown[:MAX_LABEL] or "step").translate(_ENTITIES)
