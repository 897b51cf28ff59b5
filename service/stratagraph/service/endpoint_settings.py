"""The check that the settings of the embedder and of the extractor share: those of an endpoint of OpenAI's protocol."""

from __future__ import annotations

import re
from typing import Final

from pydantic import SecretStr

_USER_INFO: Final = re.compile(r"https?://[^/?#]*@")


def check_endpoint(name: str, *, url: str | None, model: str | None, key: SecretStr | None) -> None:
    """Check the settings that begin with `name`, such as EMBEDDER; return nothing. Raises ValueError naming them."""
    variable = f"STRATAGRAPH_{name}"
    if url is None or not url.startswith(("http://", "https://")):
        raise ValueError(
            f"{variable}=openai needs {variable}_URL, an http:// or https:// address such as http://localhost:8080/v1"
        )
    if not model:
        raise ValueError(f"{variable}=openai needs {variable}_MODEL, which is not set")
    if key is not None and _USER_INFO.match(url):
        raise ValueError(
            f"{variable}_URL contains a user name or a password, and {variable}_KEY is set, but a request can carry"
            f" only one of them. Remove what precedes the @ from {variable}_URL, or unset {variable}_KEY"
        )
