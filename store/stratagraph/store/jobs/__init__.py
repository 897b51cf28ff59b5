"""The state of background jobs: who runs which, when each runs next, how runs ended, and rows that were set aside."""
