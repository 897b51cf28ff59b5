// Publish how fresh the mirror is, for people in Neo4j Browser.
MERGE (i:MirrorInfo {k: $k})
SET i = {k: $k, name: $name, state: $state, as_of: $as_of, checked_at: datetime(), generation: $generation,
  lag_seconds: $lag_seconds, changes_waiting: $changes_waiting, dead_letters: $dead_letters,
  compared_at: $compared_at, compared_in_seconds: $compared_in_seconds, compared_rows: $compared_rows, found: $found, found_since: $found_since,
  note: $note}
