"""What the mirror in Neo4j needs from the truth: rows to show, generations, scrubs, dead letters, freshness."""
