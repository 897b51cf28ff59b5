// Delete a tenant's relation tombstones of older generations.
MATCH (t:RelTomb) WHERE t.ten = $ten AND t.id >= '' AND coalesce(t.gen, -1) < $gen
CALL (t) { DETACH DELETE t } IN TRANSACTIONS OF 1000 ROWS
