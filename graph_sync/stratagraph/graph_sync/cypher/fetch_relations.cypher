// Fetch everything the mirror shows of some relations of one type: ends and properties.
UNWIND $ids AS id
MATCH (a)-[r:`TYPE` {ten: $ten, id: id}]->(b)
RETURN collect({id: r.id, source: a.id, target: b.id, p: properties(r)}) AS found
