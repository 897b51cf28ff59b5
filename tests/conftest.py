"""The fixtures live in plugins, which tests can also import from without a second copy coming to be."""

from hypothesis import settings

pytest_plugins = ["fix_memory", "fix_neo4j", "fix_service"]

# `make soak`: 100 histories of 100 steps, other ones each time.
settings.register_profile("soak", max_examples=100, stateful_step_count=100, deadline=None, derandomize=False)
