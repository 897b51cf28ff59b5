DELETE FROM sync_worker WHERE consumer = :consumer AND owner = :owner
