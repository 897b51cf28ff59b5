(SELECT format('%s/%s/%s', s.system_identifier, c.timeline_id, d.oid)
 FROM pg_control_system() s, pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database())
