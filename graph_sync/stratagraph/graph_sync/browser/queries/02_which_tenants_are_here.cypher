// 02 Which tenants are here?
// One row per tenant; its number is the $ten of the other queries. Counts every node: slow on millions.
MATCH (n:Memory|Past)
RETURN n.ten AS ten, count(*) AS records, count(n.name) AS with_a_name, max(n.created_at) AS newest
ORDER BY records DESC
LIMIT 100
