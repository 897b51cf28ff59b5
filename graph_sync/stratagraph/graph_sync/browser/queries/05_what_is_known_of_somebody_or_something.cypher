// 05 What is known of somebody or something?
// Everything one relation away from the entity $name: facts about it, records that mention it. Newest first.
// :param ten => 1
// :param name => 'Lantern'
MATCH (e:Memory {ten: $ten, name: $name})-[r]-(m:Memory)
WHERE e:Entity
RETURN e, r, m
ORDER BY m.id DESC
LIMIT 100
