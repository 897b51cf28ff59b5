"""Which data directory the environment names, found without reading all settings."""

from __future__ import annotations

import os
from pathlib import Path

NAME = "STRATAGRAPH_DATA_DIR"
DEFAULT = ".stratagraph"


def embedded_data_dir() -> Path | None:
    """Return the data directory; None where the settings name a database of one's own.

    Raises Misconfigured for settings that are not valid.
    """
    if all(name == NAME for name in os.environ if name.startswith("STRATAGRAPH_")):
        return Path(os.environ.get(NAME, DEFAULT)).expanduser().absolute()
    # Other settings are rare beside an embedded service, and must be checked: a misspelt one is refused.
    from stratagraph.service.settings import Settings

    settings = Settings.load()
    return settings.data_dir if settings.database_url is None else None
