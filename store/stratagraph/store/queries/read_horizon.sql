-- Everything below it, every consumer has seen. It only ever grows.
SELECT ({feed_horizon})::text AS horizon
