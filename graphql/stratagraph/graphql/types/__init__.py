"""The types of the schema, built from the objects of `store` and `memory` by `of`."""
