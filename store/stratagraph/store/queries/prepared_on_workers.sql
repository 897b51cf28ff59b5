-- Names of the two-phase commits that workers have prepared, in one text per worker.
SELECT result FROM run_command_on_workers(
  $$SELECT coalesce(string_agg(replace(gid, ' ', '_'), ' '), '') FROM pg_prepared_xacts$$)
