"""PostgreSQL: connections, transactions and roles, named statements, tables, migrations, partitions of the change log.

Only this package uses the driver. It translates the driver's errors to those of `model.errors` (see `failures`).
"""
