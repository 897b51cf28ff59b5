"""The memory that the processes of a service share: what one writes, all read, and no row touches another."""

from __future__ import annotations

import time
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.service.processes.board import SILENT_S, Board, ProcessState

NAMES = ("background", "api-1", "api-2")
counts = st.integers(0, 2**62)
states = st.builds(
    ProcessState,
    name=st.just(""),
    pid=counts,
    starts=counts,
    ends_in_a_row=counts,
    started_at=st.floats(0, 1e9),
    is_ready=st.booleans(),
    hangs=counts,
)


@settings(max_examples=50)
@given(written=st.lists(st.tuples(st.integers(0, len(NAMES) - 1), states, counts), max_size=8))
def test_each_row_has_what_was_last_written_to_it(written: list[tuple[int, ProcessState, int]]) -> None:
    board = Board(NAMES)
    expected = {index: ProcessState(name=name) for index, name in enumerate(NAMES)}
    connections = dict.fromkeys(expected, 0)
    for index, state, count in written:
        board.write(index, replace(state, name=NAMES[index]))
        board.count_connections(index, count)
        expected[index], connections[index] = replace(state, name=NAMES[index]), count
    assert board.states() == list(expected.values())
    assert [board.connections(index) for index in expected] == list(connections.values())
    assert not board.is_stopping
    board.stop()
    assert board.is_stopping
    assert board.states() == list(expected.values())


def test_a_ready_process_without_heartbeats_is_told() -> None:
    board = Board(NAMES)
    board.write(1, ProcessState(name="api-1", is_ready=True))
    assert board.states()[1].problem is None, "before its first heartbeat nothing is known of it"
    board.beat(1)
    alive = board.states()[1]
    assert alive.problem is None
    silent = replace(alive, beat_at=time.monotonic() - SILENT_S - 1)
    assert silent.problem == f"api-1 hangs: it has had no heartbeat for more than {SILENT_S:g} s"
    board.write(1, ProcessState(name="api-1"))
    assert board.states()[1].beat_at == 0.0, "the next process in its place has had none"
