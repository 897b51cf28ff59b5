SELECT id, distance
FROM search_words_at(CAST(:any_of AS integer[]), CAST(:all_of AS integer[]), :everything, CAST(:vector AS sparsevec),
  CAST(:types AS smallint[]), CAST(:at AS timestamptz), :limit)
