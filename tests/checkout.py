"""The checkout that the tests run in."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("store", "graph_sync", "memory", "consolidation", "graphql", "service")
