// Find nodes or relationships beyond the first with one key, whose constraint somebody dropped. `part` are two digits of an
// id, or empty for all: a large store is read in parts, so that the memory needed stays small.
MATCH ELEMENT
WHERE x.`FIRST` IS NOT NULL AND x.`SECOND` IS NOT NULL AND ($part = '' OR substring(toStringOrNull(x.id), 34, 2) = $part)
WITH x.`FIRST` AS first, x.`SECOND` AS second, x ORDER BY id(x)
WITH first, second, collect(id(x)) AS elements WHERE size(elements) > 1
UNWIND tail(elements) AS element
RETURN collect(element) AS elements
