WITH {feed_lag}
SELECT tick, changes, seconds, (SELECT count(*) FROM sync_parked WHERE consumer = :consumer) AS parked FROM lag
