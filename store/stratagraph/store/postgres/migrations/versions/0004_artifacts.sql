-- What an artifact is called, and by whom, belongs to each upload and each reference; nothing has written one so far.

ALTER TABLE artifact
  DROP COLUMN media_type,
  ADD COLUMN object uuid NOT NULL,
  ADD COLUMN sealed bytea,
  ADD COLUMN data_key integer,
  ADD COLUMN look_at timestamptz NOT NULL,
  ADD CONSTRAINT artifact_sealed_ck CHECK ((sealed IS NULL) = (data_key IS NULL)),
  ADD CONSTRAINT artifact_tenant_data_key_fk FOREIGN KEY (tenant, data_key) REFERENCES data_key (tenant, id)
    DEFERRABLE INITIALLY DEFERRED;

CREATE INDEX artifact_look_ix ON artifact (look_at);

COMMENT ON COLUMN artifact.object IS 'ends the key that its bytes have in the object store';

COMMENT ON COLUMN artifact.sealed IS 'an envelope with the key of its bytes; none: they are plain';

COMMENT ON COLUMN artifact.data_key IS 'what seals the envelope';

COMMENT ON COLUMN artifact.look_at IS 'when to see whether anybody needs it';

ALTER TABLE artifact_reference ADD COLUMN media_type text;

CREATE TABLE artifact_upload (
  tenant bigint NOT NULL,
  sha256 bytea NOT NULL,
  actor text NOT NULL,
  media_type text,
  uploaded_at timestamptz NOT NULL,
  CONSTRAINT artifact_upload_pk PRIMARY KEY (tenant, sha256, actor),
  CONSTRAINT artifact_upload_tenant_sha256_fk FOREIGN KEY (tenant, sha256)
    REFERENCES artifact (tenant, sha256) ON DELETE CASCADE
);

CREATE TABLE artifact_removal (
  tenant bigint NOT NULL,
  object uuid NOT NULL,
  sha256 bytea NOT NULL,
  due_at timestamptz NOT NULL,
  CONSTRAINT artifact_removal_pk PRIMARY KEY (tenant, object),
  CONSTRAINT artifact_removal_sha256_ck CHECK (octet_length(sha256) = 32)
);

CREATE INDEX artifact_removal_due_ix ON artifact_removal (due_at);

COMMENT ON COLUMN artifact_removal.due_at IS '-infinity: at once; later: unless it is adopted before';

-- artifact: an upload replaces the object, a rotation seals its key anew; who removes artifacts locks them first

GRANT UPDATE (object, sealed, data_key) ON artifact TO {write};

GRANT SELECT, UPDATE (sealed, data_key) ON artifact TO {keys};

GRANT UPDATE (look_at) ON artifact TO {erase};

CREATE POLICY keys ON artifact TO {keys} USING (true);

DROP POLICY read ON artifact;

CREATE POLICY read ON artifact TO {read} USING (
  (SELECT true FROM artifact_reference x WHERE x.tenant = artifact.tenant AND x.sha256 = artifact.sha256 LIMIT 1)
  OR (SELECT true FROM artifact_upload x WHERE x.tenant = artifact.tenant AND x.sha256 = artifact.sha256 LIMIT 1));

-- artifact_upload

ALTER TABLE artifact_upload ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON artifact_upload TO {read};

GRANT SELECT, INSERT, UPDATE, DELETE ON artifact_upload TO {write};

GRANT SELECT, DELETE ON artifact_upload TO {erase};

CREATE POLICY caller ON artifact_upload TO {read}, {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON artifact_upload TO {erase} USING (true);

-- artifact_removal

ALTER TABLE artifact_removal ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE, DELETE ON artifact_removal TO {write}, {erase};

CREATE POLICY write ON artifact_removal TO {write} USING (tenant = (SELECT caller_tenant()));

CREATE POLICY work ON artifact_removal TO {erase} USING (true);
