// 10 What was held true, and when?
// The facts about the entity $name: those that hold, and those that were superseded or retracted. Then the events that
// mention it.
// :param ten => 1
// :param name => 'Lantern'
MATCH (e:Memory {ten: $ten, name: $name})<-[:SUBJECT_ENTITY]-(f:Semantic)
OPTIONAL MATCH (f)<-[s:SUPERSEDES]-(next)
RETURN f.name AS fact, f.type AS type, f.state AS state, f.created_at AS since, s.created_at AS until,
  next.name AS replaced_by
ORDER BY since
LIMIT 100
UNION ALL
MATCH (e:Memory {ten: $ten, name: $name})<-[:MENTIONS_ENTITY]-(f:Episodic)
RETURN f.name AS fact, f.type AS type, f.state AS state, f.occurred_at AS since, null AS until, null AS replaced_by
ORDER BY since
LIMIT 100
