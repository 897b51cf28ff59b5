"""The API: GraphQL over HTTP, credentials, limits. Everything it does, it asks of `memory`."""
