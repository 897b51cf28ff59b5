"""A Neo4j Community server on this machine, without Docker and without an installer.

Maven downloads the jars once per version into a cache that all homes share. The server is an ordinary Java
process. It listens on loopback only, with a generated password, on ports that are chosen at its first start and kept.
It keeps running when the process that started it ends. Its files are under its home, which only its owner can read:

    <home>/data-5.26, data-2026      one store per release line: an older line cannot open a newer line's store
    <home>/conf/neo4j.conf           rewritten at each start; keeps the ports for the next one
    <home>/logs/console.log          the server's output (console.1.log: that of the previous run)
    <home>/run/server.json           process id, addresses and version
    <home>/password                  the password of the user neo4j
"""

from __future__ import annotations

from stratagraph.service.local_neo4j.java import LINES, choose_version, find_javas
from stratagraph.service.local_neo4j.ready import answers
from stratagraph.service.local_neo4j.server import LocalNeo4j, LocalServer

__all__ = ["LINES", "LocalNeo4j", "LocalServer", "answers", "choose_version", "find_javas"]
