"""Composition: settings, life cycle, the `stratagraph` command, the embedded Postgres and the local Neo4j."""
