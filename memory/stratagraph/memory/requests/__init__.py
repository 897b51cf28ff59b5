"""What all requests share: evidence and the bounds of times and numbers, idempotent replays, retries of collisions."""
