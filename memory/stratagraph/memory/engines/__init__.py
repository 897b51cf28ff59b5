"""The choice of the engine that answers from the graph, SQL or the mirror; retrieval and graph questions share it."""
