"""Ask the running service, or answer in this process if none runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from stratagraph.service.local_socket import question
from stratagraph.store.model.errors import Misconfigured, StratagraphError

DATA_DIR = "STRATAGRAPH_DATA_DIR"
_WRITING = ("lessons learn",)  # what may be the first to be stored


class Refused(StratagraphError):
    """The service refused the question."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def answer_to(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a question of `local_answers`: that of the service on the data directory, if one runs.

    Importing and opening what answers takes longer than most answers, so that is left to the service. It answers with
    its own settings. Raises what the question raises, and Misconfigured where the directory has no store: a question
    makes none.
    """
    data_dir = _embedded_data_dir()
    found = question(data_dir, name, given) if data_dir is not None else None
    if found is not None and "answer" in found:
        answer: dict[str, Any] = found["answer"]
        return answer
    if found is not None and "code" in found:
        raise Refused(found["code"], found["message"])
    from stratagraph.service.embedded_postgres import EmbeddedPostgres

    if data_dir is not None and name not in _WRITING and not EmbeddedPostgres(data_dir).had_data():
        raise Misconfigured(
            f"There is no store in {data_dir}. Start one with `stratagraph serve`, or name the directory of the one"
            f" that you mean with {DATA_DIR}."
        )
    import orjson

    from stratagraph.service.cli.output import with_runtime
    from stratagraph.service.local_answers import ANSWERS

    own = with_runtime(lambda runtime: ANSWERS[name](runtime, given))
    as_answered: dict[str, Any] = orjson.loads(orjson.dumps(own, default=str))  # so that it prints the same
    return as_answered


def _embedded_data_dir() -> Path | None:
    """Return the data directory; None where the settings name a database of one's own."""
    if all(name == DATA_DIR for name in os.environ if name.startswith("STRATAGRAPH_")):
        return Path(os.environ.get(DATA_DIR, ".stratagraph")).expanduser().absolute()
    # Other settings are rare beside an embedded service, and must be checked: a misspelt one is refused.
    from stratagraph.service.settings import Settings

    settings = Settings.load()
    return settings.data_dir if settings.database_url is None else None
