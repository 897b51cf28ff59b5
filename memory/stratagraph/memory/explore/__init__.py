"""Questions about structure: paths, impact, plans by their steps, what is shared, what is next to a record."""
