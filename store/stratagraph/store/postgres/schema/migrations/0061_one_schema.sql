-- Names and texts of stores before 0060 got the keys and the terms of their time by background jobs, which are gone.

DO $$
BEGIN
  IF EXISTS (SELECT FROM rekeying) OR EXISTS (SELECT FROM reanalysis) THEN
    RAISE EXCEPTION 'the jobs rekey and analyse-words of this database have work left'
      USING HINT = 'Start Stratagraph of commit 4679b02 on it until `stratagraph jobs list` shows none waiting.';
  END IF;
END $$;

DROP TABLE rekeying;

DROP TABLE reanalysis;

ALTER TABLE link_request DROP COLUMN IF EXISTS unites;

DELETE FROM job WHERE name IN ('rekey', 'analyse-words');

DELETE FROM job_set_aside WHERE job IN ('rekey', 'analyse-words');
