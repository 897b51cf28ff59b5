"""The audit log: who changed a record, when and why. It is insert-only and hash-chained, and can be verified."""
