"""Records as callers see them outside retrieval: look-ups, pages, versions, measures, artifacts, predicates."""
