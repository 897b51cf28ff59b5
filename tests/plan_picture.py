"""A picture of a plan, drawn from the answer of `planGraph` alone: what a front end does with it, in SVG."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 190, 80, 140, 44, 20  # pixels
FILLS = {"UNTRIED": "#e8eaee", "SUCCEEDED": "#a7d8b9", "UNRELIABLE": "#ffd98a", "FAILED": "#f2a3ad"}
LINES = {"CONTROL": 'stroke="#2f4b7c"', "DATA": 'stroke="#2a9d8f" stroke-dasharray="5 4"'}
ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#6b7280"/></marker>'
)


def draw(answer: Mapping[str, Any]) -> str:
    """Return the picture: ranks are columns from left to right, orders are rows, centred."""
    steps = {step["id"]: step for step in answer["steps"]}
    sizes: dict[int, int] = {}
    for step in steps.values():
        sizes[step["rank"]] = max(sizes.get(step["rank"], 0), step["order"] + 1)
    rows = max(sizes.values())

    def centre(id_: str) -> tuple[float, float]:
        step = steps[id_]
        x = MARGIN + WIDTH / 2 + step["rank"] * COLUMN
        return x, MARGIN + HEIGHT / 2 + (step["order"] + (rows - sizes[step["rank"]]) / 2) * ROW

    width = 2 * MARGIN + WIDTH + (len(sizes) - 1) * COLUMN
    height = 2 * MARGIN + HEIGHT + (rows - 1) * ROW
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">']
    parts += [f"<defs>{ARROW}</defs>", f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for link in answer["links"]:
        (x, y), (far_x, far_y) = centre(link["source"]), centre(link["target"])
        x, far_x = x + WIDTH / 2, far_x - WIDTH / 2
        bend = (far_x - x) / 2
        path = f"M{x:g} {y:g}C{x + bend:g} {y:g} {far_x - bend:g} {far_y:g} {far_x:g} {far_y:g}"
        line = f'fill="none" stroke-width="2" {LINES[link["kind"]]} marker-end="url(#arrow)"'
        parts.append(f'<path id="{escape(link["id"])}" d="{path}" {line}/>')
    for id_, step in steps.items():
        x, y = centre(id_)
        box = f'x="{x - WIDTH / 2:g}" y="{y - HEIGHT / 2:g}" width="{WIDTH}" height="{HEIGHT}" rx="8"'
        edge = 3 if id_ in answer["criticalPath"] else 1
        parts.append(f'<rect {box} fill="{FILLS[step["status"]]}" stroke="#2f4b7c" stroke-width="{edge}"/>')
        text = f'x="{x:g}" text-anchor="middle" fill="#2a2c34"'
        parts.append(f'<text {text} y="{y - 2:g}" font-size="12">{escape(step["label"])}</text>')
        tried = step["executions"]
        said = "untried" if tried is None else f"{step['failures']} of {tried} failed"
        parts.append(f'<text {text} y="{y + 15:g}" font-size="11">{said}</text>')
    return "\n".join([*parts, "</svg>", ""])
