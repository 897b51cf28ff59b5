MATCH (s:SyncRebuild) WHERE s.gen <= $gen DELETE s
