"""The mirror in Neo4j: what is shown (`mapping`), how it gets there (`worker`), how it is walked (`reader`)."""
