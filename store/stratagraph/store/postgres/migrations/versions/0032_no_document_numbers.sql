-- The word index has records by position in segments, so dense numbers of documents have no use any more

ALTER TABLE record DROP COLUMN doc;

DROP TABLE doc_counter;
