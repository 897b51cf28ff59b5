"""The settings that were removed before the first release, and what to do where one is still set."""

from __future__ import annotations

from typing import Final

_IN_FILES: Final = (
    *("DATABASE_URL", "OWNER_DATABASE_URL", "WORKER_DATABASE_URL", "NEO4J_PASSWORD", "MASTER_KEY"),
    *("PREVIOUS_MASTER_KEY", "EMBEDDER_KEY", "EXTRACTOR_KEY"),
)
REMOVED: Final = {
    **{
        f"{name}_FILE": f"Put the secret into a file named stratagraph_{name.lower()}, and name the directory of that"
        " file in STRATAGRAPH_SECRETS_DIR"
        for name in _IN_FILES
    },
    "DATABASE_CONNECTIONS_PER_CREDENTIAL": "It is fixed at three tenths of STRATAGRAPH_DATABASE_CONNECTIONS",
    "DEADLINE_S": "It is fixed at 30 seconds",
    "EXTRACTOR_REQUESTS": "It is fixed at 200; STRATAGRAPH_EXTRACTOR_TOKENS limits what a run costs",
    "HANG_TIMEOUT_S": "It is fixed at 15 seconds",
    "HEAVY_OPERATIONS": "It is fixed at 1; STRATAGRAPH_WORKERS sets the number of processes",
    "KEEP_UNLEARNED_DAYS": "It is fixed at 90 days",
    "MAX_CONNECTIONS": "It is fixed at 1,000 for each process; a proxy can set a lower limit",
    "MAX_FREE_PREDICATES": "It is fixed at 200",
    "MAX_LAG_S": "It is fixed at 300 seconds; for other limits, use the metric stratagraph_feed_lag_seconds",
    "OPERATIONS": "It is fixed at 16; STRATAGRAPH_WORKERS sets the number of processes",
    "OPERATIONS_PER_CREDENTIAL": "It is fixed at 4",
    "TRANSFERS": "It is fixed at 8",
    "TRANSFERS_PER_CREDENTIAL": "It is fixed at 2",
    "WAITING_PER_CREDENTIAL": "It is fixed at 32",
    "REQUEST_RATE": "It is fixed at 100 per second, or a fifth of STRATAGRAPH_RATE if that is more",
    "REQUEST_BURST": "It is fixed at 200, or a twenty-fifth of STRATAGRAPH_BURST if that is more",
    "SINGLE_USER_RATE": "STRATAGRAPH_RATE holds in single-user mode too",
    "SINGLE_USER_BURST": "STRATAGRAPH_BURST holds in single-user mode too",
    "HEADER_TIMEOUT_S": "It is fixed at 10 seconds; a proxy can set a lower limit",
    "BODY_TIMEOUT_S": "It is fixed at 30 seconds; a proxy can set a lower limit",
    "IDLE_TIMEOUT_S": "It is fixed at 75 seconds; a proxy can set a lower limit",
}


def advice_on_removed(name: str) -> str | None:
    """Return what to do where the setting `name`, without its prefix, is set; None if no such setting was removed."""
    instead = REMOVED.get(name)
    return None if instead is None else f"this setting was removed; unset it. {instead}"
