"""Open calls: a result finds the call that a search of the whole list would find, and the search does not grow."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.imports.open_calls import OpenCalls

_ids = st.sampled_from([None, "a", "b"])
_tools = st.sampled_from(["tides", "cranes"])
Call = tuple[str | None, str, int]


def answers(call: Call, id_: str | None, tool: str | None) -> Iterator[bool]:
    """Whether a result answers a call, in order of preference."""
    yield id_ is not None and call[0] == id_
    yield None in (id_, call[0]) and tool in (None, call[1])


def first(calls: list[Call], id_: str | None, tool: str | None) -> Call | None:
    for matches in zip(*(list(answers(call, id_, tool)) for call in calls), strict=True):
        for call, is_match in zip(calls, matches, strict=True):
            if is_match:
                return call
    return None


@given(st.lists(st.tuples(st.booleans(), _ids, st.none() | _tools)))
def test_a_result_answers_the_call_that_a_search_of_all_finds(steps: list[tuple[bool, str | None, str | None]]) -> None:
    calls, model = OpenCalls[Call](), list[Call]()
    for place, (is_call, id_, tool) in enumerate(steps):
        if is_call:
            call = (id_, tool or "tides", place)
            calls.add(call, id_=id_, tool=call[1])
            model.append(call)
        else:
            found = first(model, id_, tool)
            assert calls.answered(id_, tool) == found
            if found is not None:
                model.remove(found)
        assert list(calls) == model
