"""The HTTP API: GraphQL, artifact transfer, authentication and limits. All work is done by `stratagraph.memory`."""
