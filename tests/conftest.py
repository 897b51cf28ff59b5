"""The fixtures live in plugins, which tests can also import from without a second copy coming to be."""

import pytest
from hypothesis import settings

pytest_plugins = ["fix_memory", "fix_mirror", "fix_neo4j", "fix_service", "fix_faults"]

# `make soak`: 100 histories of 100 steps, other ones each time.
settings.register_profile("soak", max_examples=100, stateful_step_count=100, deadline=None, derandomize=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run side by side, those with a Neo4j stay together: there is one server, and each empties it."""
    for item in items:
        if item.get_closest_marker("neo4j") is not None:
            item.add_marker(pytest.mark.xdist_group("neo4j"))
