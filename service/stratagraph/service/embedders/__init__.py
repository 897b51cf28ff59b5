"""The embedders that can be used: an endpoint, or a local model. Only the one that is used is imported."""
