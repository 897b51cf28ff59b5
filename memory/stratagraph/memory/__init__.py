"""The operations on memory: capture, retrieve, look up, explore, revise, erase and import records."""
