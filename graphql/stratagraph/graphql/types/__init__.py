"""The types of the schema. Each `of` builds a type from an object of `store` or `memory`."""
