"""Traversing the graph in SQL: neighbourhoods within limits, links between records, plans by steps, the past graph.

Both engines share the algorithms in this package; `graph_sync` implements the same protocols over Neo4j.
"""
