// For people in Neo4j Browser: how fresh what they see is.
MERGE (i:MirrorInfo {k: $k})
SET i.name = $name, i.state = $state, i.as_of = $as_of, i.checked_at = datetime(), i.generation = $generation,
  i.lag_seconds = $lag_seconds, i.changes_waiting = $changes_waiting, i.parked = $parked, i.note = $note
