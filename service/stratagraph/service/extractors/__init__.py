"""The language model that extracts facts: its settings and the endpoint behind which it is."""
