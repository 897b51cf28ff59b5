"""The graph in SQL: neighbourhoods within budgets, links and plans by structure, and the graph as of an instant.

The algorithms are shared by both engines; `graph_sync` implements the same protocols over Neo4j.
"""
