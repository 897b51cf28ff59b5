-- Accents and endings show the language of a text too: the job `analyse-words` adds the stems that records lack

INSERT INTO reanalysis (tenant) SELECT id FROM tenant ON CONFLICT (tenant) DO UPDATE SET after = NULL;
