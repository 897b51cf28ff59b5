UPDATE sync_feed SET incarnation = :incarnation
