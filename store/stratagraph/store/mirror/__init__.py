"""What the mirror in Neo4j needs from Postgres: rows to show, generations, scrubs, dead letters, freshness."""
