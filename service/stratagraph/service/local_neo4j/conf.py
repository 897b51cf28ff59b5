"""How the server is set up: neo4j.conf, the flags of its JVM, and the folder of each line's data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stratagraph.service.local_neo4j.java import LINES, Line, line_of
from stratagraph.store.model.errors import Misconfigured

# What the shipped neo4j.conf gives the server's JVM. Without the opened java.nio, vector indexes stall while
# they are filled. A server out of memory ends at once rather than limp on, so that a restart is possible.
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


def write_conf(home: Path, version: str, *, browser: bool, heap: str, page_cache: str) -> Path:
    """Write conf/neo4j.conf anew and return its folder; no transaction may take more than half the heap."""
    line = line_of(version)
    on = "true" if browser else "false"
    settings = [
        "# Written by `stratagraph neo4j start`, anew each time.",
        _data_setting(line),
        "server.default_listen_address=127.0.0.1",
        # Port 0: the kernel picks a free one, so nothing can take it in between. The server tells clients
        # and the Browser the port it got.
        "server.bolt.listen_address=127.0.0.1:0",
        "server.bolt.advertised_address=127.0.0.1:0",
        f"server.http.enabled={on}",
        "server.http.listen_address=127.0.0.1:0",
        "server.http.advertised_address=127.0.0.1:0",
        "server.https.enabled=false",
        # Without authentication, a web page elsewhere must not be able to query by HTTP: only the
        # Browser's own pages are served, and no other origin may read them.
        "server.http_enabled_modules=BROWSER",
        "dbms.security.http_access_control_allow_origin=http://127.0.0.1",
        "dbms.security.auth_enabled=false",
        "dbms.security.allow_csv_import_from_file_urls=false",
        "dbms.usage_report.enabled=false",
        "client.allow_telemetry=false",
        f"server.memory.heap.initial_size={heap}",
        f"server.memory.heap.max_size={heap}",
        f"server.memory.pagecache.size={page_cache}",
        f"db.memory.transaction.max={megabytes('heap', heap) // 2}m",
        "db.transaction.timeout=30s",
        "db.lock.acquisition.timeout=10s",
        # 512 MB of empty log files otherwise, for a mirror that may hold a few thousand nodes.
        "db.tx_log.preallocate=false",
    ]
    if version == line.version:
        settings.append(line.quick_stop)
    conf = _conf_file(home)
    conf.parent.mkdir(parents=True, exist_ok=True)
    conf.write_text("\n".join(settings) + "\n", encoding="utf-8")
    return conf.parent


def kept_line(home: Path) -> Line | None:
    """The line that a home has data of; of several the one started last."""
    kept = [line for line in LINES if (home / _data_folder(line) / "databases").is_dir()]
    if len(kept) > 1 and _conf_file(home).exists():
        settings = _conf_file(home).read_text(encoding="utf-8").splitlines()
        kept.sort(key=lambda line: _data_setting(line) not in settings)
    return kept[0] if kept else None


def megabytes(name: str, size: str) -> int:
    match = re.fullmatch(r"([1-9]\d{0,6})([mMgG])", size)
    if match is None:
        raise Misconfigured(f"{name} is a size such as 512m or 2g, not {size!r}.")
    return int(match[1]) * (1024 if match[2] in "gG" else 1)


def _conf_file(home: Path) -> Path:
    return home / "conf" / "neo4j.conf"


def _data_folder(line: Line) -> str:
    return f"data-{line.name}"


def _data_setting(line: Line) -> str:
    return f"server.directories.data={_data_folder(line)}"
