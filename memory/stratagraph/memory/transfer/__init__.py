"""Moving records between instances: exports, and their import."""
