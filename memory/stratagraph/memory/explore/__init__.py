"""Questions about how memories are connected: paths, impact, plans by their steps, shared memories, neighbours."""
