// 02 Which tenants are here?
// One line a tenant; its number is what the other queries take as $ten. Counts everything, so it takes a while on millions.
MATCH (n:Memory|Past)
RETURN n.ten AS ten, count(*) AS records, count(n.name) AS with_a_name, max(n.created_at) AS newest
ORDER BY records DESC
LIMIT 100
