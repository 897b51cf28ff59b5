SELECT id FROM search_recent(CAST(:types AS smallint[]), CAST(:now AS timestamptz), :window, :limit)
