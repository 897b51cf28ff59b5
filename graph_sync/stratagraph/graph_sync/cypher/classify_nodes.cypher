// Classify nodes, given by their internal ids: those of the worker and those that are foreign. Nodes that belong to other
// people are of no class. Internal ids make it possible to read any store page by page, whatever its keys look like.
UNWIND $elements AS element
MATCH (n) WHERE id(n) = element
WITH n, n.ten IS :: INTEGER NOT NULL AS has_tenant, n.id IS :: STRING NOT NULL AND toStringOrNull(n.id) =~ $uuid AS has_id,
  n.ver IS :: INTEGER NOT NULL AND n.gen IS :: INTEGER NOT NULL AS has_version
WITH n, CASE
  WHEN n:Mirrored THEN CASE
    WHEN NOT (has_tenant AND has_id) THEN 'foreign'
    WHEN NOT n:Tomb OR n:Memory|Past THEN 'record'
    WHEN has_version AND coalesce(n.dead IS :: BOOLEAN NOT NULL AND n.dead, false) AND n.at IS :: ZONED DATETIME NOT NULL
      AND coalesce(n.at <= datetime() + duration('PT1H'), false)
      AND size(labels(n)) = 2 AND size(keys(n)) = 6 THEN 'tombstone'
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
      AND size(keys(n)) = 5 AND size(labels(n)) = 1 AND NOT EXISTS { (n)--() } THEN 'relation tombstone'
    ELSE 'foreign'
  END
  WHEN n:SyncCheckpoint THEN CASE WHEN n.k IN $checkpoints THEN 'state' ELSE 'foreign' END
  WHEN n:SyncGeneration THEN CASE
    WHEN has_tenant AND n.gen IS :: INTEGER NOT NULL THEN 'state' ELSE 'foreign' END
  WHEN n:SyncRebuild THEN CASE WHEN n.gen IS :: INTEGER NOT NULL THEN 'state' ELSE 'foreign' END
  WHEN n:MirrorInfo THEN CASE WHEN n.k = $consumer THEN 'state' ELSE 'foreign' END
  // What the worker wrote, without the label that it gave it
  WHEN has_tenant AND has_id AND n.gen IS NOT NULL AND n.ver IS NOT NULL AND n.d IS NOT NULL THEN 'foreign'
  WHEN has_tenant AND size(keys(n)) = 5 AND n.op IS NOT NULL AND n.name IS NOT NULL AND n.acl IS NOT NULL
    AND n.id IS :: STRING NOT NULL AND left(toStringOrNull(n.id), 36) =~ $uuid THEN 'foreign'
  WHEN has_tenant AND size(keys(n)) = 2 AND n.name IS NOT NULL AND size(labels(n)) = 0 THEN 'foreign'
END AS class
RESULT
