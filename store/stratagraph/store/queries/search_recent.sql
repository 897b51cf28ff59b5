SELECT id FROM search_recent(CAST(:types AS smallint[]), :window, :limit)
