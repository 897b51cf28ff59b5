"""A Neo4j Community server on this machine, without Docker and without an installer.

Maven fetches the jars once per version into a cache that every home shares; the server is an ordinary Java
process that listens on loopback only, on ports the kernel picks, without authentication. It outlives the
process that started it, and what it stores lies under its home:

    <home>/data-5.26, data-2026      one store per line: a store once opened by a newer line cannot go back
    <home>/conf/neo4j.conf           written anew at each start
    <home>/logs/console.log          what the server printed (console.1.log: the run before)
    <home>/run/server.json           the process, its addresses, its version

Everybody who may open a socket on this machine may read and write this server. It mirrors what Postgres
holds, so it suits a machine with one user; elsewhere set STRATAGRAPH_NEO4J_URI to a server with credentials.
"""

from __future__ import annotations

from stratagraph.service.local_neo4j.java import LINES, choose_version, find_javas
from stratagraph.service.local_neo4j.ready import answers
from stratagraph.service.local_neo4j.server import LocalNeo4j, LocalServer

__all__ = ["LINES", "LocalNeo4j", "LocalServer", "answers", "choose_version", "find_javas"]
