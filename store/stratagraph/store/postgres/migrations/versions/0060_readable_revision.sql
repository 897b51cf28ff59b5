-- A running service compares the revision with those that it knows

GRANT SELECT ON alembic_version TO {maintenance};
