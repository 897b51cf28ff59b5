-- fetch_procedure_versions --
-- Fetch the newest :most current versions of plans and skills by the keyed hash of their name, and the newest
-- :superseded ones. Of these, the payload has the key `version` alone unless it is sealed.
(SELECT id, scope, sensitivity, handle_key, state, updated_at, created_at, version_key, payload, provenance,
   learned_state, sealed
 FROM record
 WHERE tenant = :tenant AND handle_key = ANY(CAST(:keys AS bytea[])) AND type = ANY(CAST(:types AS smallint[]))
   AND state <= 2
 ORDER BY created_at DESC, id DESC LIMIT :most)
UNION ALL
(SELECT id, scope, sensitivity, handle_key, state, updated_at, created_at, version_key,
   jsonb_strip_nulls(jsonb_build_object('version', payload -> 'version')), NULL, NULL, sealed FROM record
 WHERE tenant = :tenant AND handle_key = ANY(CAST(:keys AS bytea[])) AND type = ANY(CAST(:types AS smallint[]))
   AND state = 3
 ORDER BY created_at DESC, id DESC LIMIT :superseded)
ORDER BY created_at DESC, id DESC

-- lock_procedures --
-- Take advisory locks on the names of plans and skills, in the given order.
SELECT pg_advisory_xact_lock(asked.number) FROM unnest(CAST(:locks AS bigint[])) AS asked(number)

-- lock_procedure_versions --
-- Lock the current versions of plans and skills, in id order.
SELECT id FROM record
WHERE tenant = :tenant AND handle_key = ANY(CAST(:keys AS bytea[])) AND type = ANY(CAST(:types AS smallint[]))
  AND state <= 2
ORDER BY id FOR UPDATE
