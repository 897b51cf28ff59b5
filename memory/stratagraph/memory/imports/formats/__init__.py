"""The formats of recorded conversations that `stratagraph import traces` reads, one module each."""
