"""Adapters of agent frameworks. Each module needs its framework, which an extra of `stratagraph-client` installs."""
