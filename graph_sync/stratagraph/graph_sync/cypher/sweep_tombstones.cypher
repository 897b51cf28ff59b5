MATCH (t:RelTomb) WHERE coalesce(t.gen, -1) < $gen
CALL (t) { DELETE t } IN TRANSACTIONS OF 1000 ROWS
