"""Work in the background: one module per job in `jobs`, and one runner for all of them.

`job` says what a job is, `registry` lists the jobs, `runner` runs each on its own schedule.
"""
