// Delete the progress of a generation that is complete, and of older ones.
MATCH (s:SyncRebuild) WHERE s.gen <= $gen DETACH DELETE s
