"""Feedback: the reported outcomes of retrievals, which change salience and statistics of the records returned."""
