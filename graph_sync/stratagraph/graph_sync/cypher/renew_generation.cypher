// As begin_generation, where what the mirror holds stays right: nobody's place in the feed changes.
UNWIND $keys AS key
MATCH (c:SyncCheckpoint {k: key}) SET c.gen = $gen, c.at = datetime()
RETURN count(c) AS held
