"""The server's configuration: neo4j.conf, JVM flags, and the data folder of each release line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stratagraph.service.local_neo4j.java import LINES, Line, line_of
from stratagraph.service.local_neo4j.ports import Ports
from stratagraph.store.model.errors import Misconfigured

# The JVM flags of Neo4j's own neo4j.conf. Without the opened java.nio, vector indexes stall while they are
# filled. ExitOnOutOfMemoryError ends a server that is out of memory, so that it can be restarted.
JVM_FLAGS: Final = (
    "-XX:+UseG1GC",
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:+TrustFinalNonStaticFields",
    "-XX:+DisableExplicitGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djdk.nio.maxCachedBufferSize=1024",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dfile.encoding=UTF-8",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
)


WITH_PASSWORD: Final = "dbms.security.auth_enabled=true"


def write_conf(home: Path, version: str, *, ports: Ports, browser: bool, heap: str, page_cache: str) -> Path:
    """Rewrite conf/neo4j.conf and return its folder. A transaction may use at most half the heap.

    `heap` and `page_cache` are sizes such as 512m or 1g.
    """
    line = line_of(version)
    on = "true" if browser else "false"
    settings = [
        "# Written by `stratagraph neo4j start`, which overwrites it at each start.",
        _data_setting(line),
        "server.default_listen_address=127.0.0.1",
        f"server.bolt.listen_address=127.0.0.1:{ports.bolt}",
        f"server.bolt.advertised_address=127.0.0.1:{ports.bolt}",
        f"server.http.enabled={on}",
        f"server.http.listen_address=127.0.0.1:{ports.http}",
        f"server.http.advertised_address=127.0.0.1:{ports.http}",
        "server.https.enabled=false",
        # HTTP serves the Browser's pages only and answers no queries, and no other origin may read it.
        "server.http_enabled_modules=BROWSER",
        "dbms.security.http_access_control_allow_origin=http://127.0.0.1",
        WITH_PASSWORD,
        # Otherwise a web page could lock the service out by wrong passwords. Ours is too long to be guessed.
        "dbms.security.auth_max_failed_attempts=0",
        # Community cannot turn LOAD CSV off: it may read no file, and connect to no address.
        "dbms.security.allow_csv_import_from_file_urls=false",
        "internal.dbms.cypher_ip_blocklist=0.0.0.0/0,::/0",
        "dbms.usage_report.enabled=false",
        "client.allow_telemetry=false",
        f"server.memory.heap.initial_size={heap}",
        f"server.memory.heap.max_size={heap}",
        f"server.memory.pagecache.size={page_cache}",
        f"db.memory.transaction.max={megabytes('heap', heap) // 2}m",
        "db.transaction.timeout=30s",
        "db.lock.acquisition.timeout=10s",
        # Preallocation would write 512 MB of empty log files, even for a mirror of a few thousand nodes.
        "db.tx_log.preallocate=false",
    ]
    if version == line.version:
        settings.append(line.quick_stop)
    conf = conf_file(home)
    conf.parent.mkdir(parents=True, exist_ok=True)
    conf.write_text("\n".join(settings) + "\n", encoding="utf-8")
    return conf.parent


def asks_for_password(home: Path) -> bool:
    """Return whether the server was started with a password, as earlier versions did not."""
    conf = conf_file(home)
    return conf.exists() and WITH_PASSWORD in conf.read_text(encoding="utf-8").splitlines()


def line_with_data(home: Path) -> Line | None:
    """Return the release line whose data `home` has, or None without data.

    If it has data of several lines, the one that the server was started with last.
    """
    found = [line for line in LINES if (data_folder(home, line) / "databases").is_dir()]
    if len(found) > 1 and conf_file(home).exists():
        settings = conf_file(home).read_text(encoding="utf-8").splitlines()
        found.sort(key=lambda line: _data_setting(line) not in settings)
    return found[0] if found else None


def megabytes(name: str, size: str) -> int:
    """Parse a size such as 512m or 2g into megabytes. Raises Misconfigured, which names the setting `name`."""
    match = re.fullmatch(r"([1-9]\d{0,6})([mMgG])", size)
    if match is None:
        raise Misconfigured(
            f"{name}: {size!r} is not a size such as 512m or 2g; write a whole number of megabytes (m) or gigabytes"
            " (g)."
        )
    return int(match[1]) * (1024 if match[2] in "gG" else 1)


def conf_file(home: Path) -> Path:
    """Return the path of neo4j.conf in `home`."""
    return home / "conf" / "neo4j.conf"


def data_folder(home: Path, line: Line) -> Path:
    """Return the folder of the store of a release line."""
    return home / f"data-{line.name}"


def _data_setting(line: Line) -> str:
    return f"server.directories.data=data-{line.name}"
