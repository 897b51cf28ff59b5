"""The requests by which a LangGraph store reads and writes: names of operations and their variables. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stratagraph_client.frameworks.operation_steps import Request, Steps

MOST_LOOKED_UP = 10  # items of one request
PAGE = 100  # records of one page
SAME_PLACE = 10  # current items that one place is read to have; it has one, or one for each sensitivity
CURRENT = ["ACTIVE", "CONTESTED"]
_NONE: Mapping[str, Any] = {"ids": []}


def look_up(filters: Sequence[Mapping[str, Any]]) -> Steps[list[list[Mapping[str, Any]]]]:
    """Return the records of each filter, in few requests."""
    found: list[list[Mapping[str, Any]]] = []
    if len(filters) == 1:
        answer = yield Request("ListItems", {"filter": filters[0], "first": SAME_PLACE})
        return [answer["records"]["nodes"]]
    for start in range(0, len(filters), MOST_LOOKED_UP):
        part = filters[start : start + MOST_LOOKED_UP]
        padded = [*part, *[_NONE] * (MOST_LOOKED_UP - len(part))]
        answer = yield Request("GetItems", {f"filter{place}": one for place, one in enumerate(padded)})
        found += [answer[f"item{place}"]["nodes"] for place in range(len(part))]
    return found
