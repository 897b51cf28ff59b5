SELECT count(*) AS strays FROM (SELECT FROM sync_log_default LIMIT 1000) found
