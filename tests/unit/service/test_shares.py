"""The connections that the processes of a service open together."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.service.embedded_postgres import MAX_CONNECTIONS
from stratagraph.service.processes.shares import check_connections, settings_of_worker
from stratagraph.service.settings import MOST_WORKERS, Settings
from stratagraph.store.model.errors import Misconfigured


def settings(**given: object) -> Settings:
    return Settings.load({}, **given)


@given(workers=st.integers(1, 64), connections=st.integers(1, 200))
def test_the_parts_of_the_workers_add_up_to_what_is_divided_and_little_more(workers: int, connections: int) -> None:
    divided = settings(workers=workers, database_connections=connections)
    own = settings_of_worker(divided)
    assert connections <= workers * own.database_connections < connections + 2 * workers
    unchanged = {"database_connections": 0}
    assert own.model_copy(update=unchanged) == divided.model_copy(update=unchanged)
    share = own.fair_use.connections_share
    assert own.fair_use.connections == own.database_connections >= share >= 1
    assert abs(share - 0.3 * own.database_connections) <= 0.5 or share == 1


def test_by_default_a_credential_has_three_of_ten_connections_and_its_part_of_them_in_each_worker() -> None:
    for workers in range(1, 65):
        share = settings_of_worker(settings(workers=workers)).fair_use.connections_share
        assert share == max(1, math.ceil(3 / workers)), workers


def test_the_default_workers_of_any_machine_fit_in_the_embedded_database() -> None:
    for workers in range(1, MOST_WORKERS + 1):
        check_connections(settings(workers=workers), workers)
    with pytest.raises(Misconfigured, match="Lower STRATAGRAPH_WORKERS"):
        check_connections(settings(workers=2, database_connections=MAX_CONNECTIONS), 2)
    check_connections(settings(workers=64, database_url="postgresql://localhost/x"), 64)
