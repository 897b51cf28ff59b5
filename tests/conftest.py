"""The fixtures live in plugins, which tests can also import from without a second copy coming to be."""

pytest_plugins = ["fix_memory", "fix_neo4j", "fix_service"]
