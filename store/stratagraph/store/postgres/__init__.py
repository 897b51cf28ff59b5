"""The database itself: connections, transactions and roles, named statements, tables, migrations, log partitions.

The only place that knows the driver: its errors leave here as errors of `model.errors` (`failures`).
"""
