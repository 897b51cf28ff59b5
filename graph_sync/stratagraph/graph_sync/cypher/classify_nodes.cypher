// Classify nodes, given by their internal ids: those of the worker and those that are foreign. Nodes that belong to other
// people are of no class. Internal ids make it possible to read any store page by page, whatever its keys look like.
// A node without any of the worker's labels is taken for one that has lost them if it has three of the five properties
// that only records have (or three that only steps have), whatever their values, or no label at all and `ten`.
UNWIND $elements AS element
MATCH (n) WHERE id(n) = element
WITH n, n.ten IS :: INTEGER NOT NULL AS has_tenant, n.id IS :: STRING NOT NULL AND toStringOrNull(n.id) =~ $uuid AS has_id,
  n.ver IS :: INTEGER NOT NULL AND n.gen IS :: INTEGER NOT NULL AS has_version
WITH n, has_tenant, has_id, has_version,
  CASE WHEN n:SyncCheckpoint AND n.k IN $checkpoints THEN 'SyncCheckpoint'
    WHEN n:MirrorInfo AND n.k = $consumer THEN 'MirrorInfo' END AS state_label,
  CASE WHEN n:SyncCheckpoint THEN ['k', 'gen', 'snapshot', 'seq', 'nonce', 'incarnation', 'mapping', 'at']
    ELSE keys(n) END AS state_keys
WITH n, state_label, state_keys, CASE
  WHEN state_label IS NOT NULL THEN CASE
    WHEN size(labels(n)) = 1 AND all(key IN keys(n) WHERE key IN state_keys) THEN 'state' ELSE 'edited state' END
  WHEN n:Mirrored THEN CASE
    WHEN NOT (has_tenant AND has_id) THEN 'foreign'
    WHEN NOT n:Tomb OR n:Memory|Past THEN 'record'
    WHEN has_version AND coalesce(n.dead IS :: BOOLEAN NOT NULL AND n.dead, false) AND n.at IS :: ZONED DATETIME NOT NULL
      AND coalesce(n.at <= datetime() + duration('PT1H'), false)
      AND size(labels(n)) = 2 AND size(keys(n)) = 7 THEN 'tombstone'
    ELSE 'foreign'
  END
  WHEN n:Memory|Past|Tomb THEN 'foreign'
  WHEN n:PlanStep THEN CASE
    WHEN has_tenant AND n.id IS :: STRING NOT NULL AND EXISTS {
      (n)<-[:HAS_STEP]-(p:Mirrored&PlanGraph) WHERE p.ten = n.ten AND n.id STARTS WITH p.id + '/'
    } THEN 'step'
    ELSE 'foreign'
  END
  WHEN n:Tool THEN CASE
    WHEN has_tenant AND n.name IS :: STRING NOT NULL AND size(keys(n)) = 2 AND size(labels(n)) = 1
      AND EXISTS { (n)<-[:USES_TOOL]-(u:PlanStep|Episodic) WHERE u.ten = n.ten } THEN 'tool'
    ELSE 'foreign'
  END
  WHEN n:RelTomb THEN CASE
    WHEN has_tenant AND has_id AND has_version AND n.at IS :: ZONED DATETIME NOT NULL
      AND coalesce(n.at <= datetime() + duration('PT1H'), false)
      AND size(keys(n)) = 6 AND size(labels(n)) = 1 AND NOT EXISTS { (n)--() } THEN 'relation tombstone'
    ELSE 'foreign'
  END
  WHEN n:SyncGeneration THEN CASE
    WHEN has_tenant AND n.gen IS :: INTEGER NOT NULL AND size(keys(n)) = 2 AND size(labels(n)) = 1 THEN 'state'
    ELSE 'foreign'
  END
  WHEN n:SyncRebuild THEN CASE
    WHEN n.gen IS :: INTEGER NOT NULL AND size(labels(n)) = 1
      AND all(key IN keys(n) WHERE key IN ['gen', 'kind', 'ten', 'id', 'done']) THEN 'state'
    ELSE 'foreign'
  END
  WHEN n:SyncCheckpoint|MirrorInfo THEN 'foreign'
  // What the worker wrote, without the labels that it gave it
  WHEN size([value IN [n.ten, n.gen, n.ver, n.d, n.acl] WHERE value IS NOT NULL]) >= 3 THEN 'foreign'
  WHEN size([value IN [n.ten, n.op, n.acl] WHERE value IS NOT NULL]) + CASE
      WHEN n.id IS :: STRING NOT NULL AND toStringOrNull(n.id) =~ $uuid + '/.*' THEN 1 ELSE 0 END >= 3 THEN 'foreign'
  WHEN size(labels(n)) = 0 AND n.ten IS NOT NULL THEN 'foreign'
END AS class
RESULT
