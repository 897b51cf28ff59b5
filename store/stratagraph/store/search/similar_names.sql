-- find_similar_names --
-- Find entities that the caller may read in full with a name like one of the words.
SELECT entity, word, name FROM find_similar_names(CAST(:words AS text[]), :most)
