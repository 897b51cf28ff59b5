-- find_similar_names --
-- Find entities that the caller may read in full with a name or an alias like one of the words, with all their names.
-- A call for each word, so that there is none where all words are known: it changes five settings.
-- Prepared: a call of a function for each word.
SELECT found.entity, found.word, found.names
FROM unnest(CAST(:words AS text[])) AS asked(word)
CROSS JOIN LATERAL find_similar_names(ARRAY[asked.word], :most, :bound) AS found
