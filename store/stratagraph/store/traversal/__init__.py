"""The graph in SQL: neighbourhoods within budgets, links between records, plans by their steps, and the past graph.

Both engines share the algorithms in this package; `graph_sync` implements the same protocols over Neo4j.
"""
