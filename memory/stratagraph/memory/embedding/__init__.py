"""Vectors of texts: what makes them, how records get them, and how a question gets one in time."""
