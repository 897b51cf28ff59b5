"""One module per background job. See `stratagraph.consolidation.job` for what a job is."""
