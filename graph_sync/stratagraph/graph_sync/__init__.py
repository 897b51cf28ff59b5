"""The mirror in Neo4j: what it shows (`mapping`), how it is kept in step (`worker`), how it is read (`reader`)."""
