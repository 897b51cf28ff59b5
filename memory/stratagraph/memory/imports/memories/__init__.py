"""Import of the memories of other systems: one module a format, and one form that all are read into."""
