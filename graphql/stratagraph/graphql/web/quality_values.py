"""Quality values, by which the headers Accept and Accept-Encoding say what a client prefers (RFC 9110, 12.4.2)."""

from __future__ import annotations


def quality_values(header: str) -> dict[str, float]:
    """Return the quality of each name in a header, in lower case: 1 where none is given, 0 for one that is no number.

    >>> quality_values("gzip;q=0.5, BR, deflate;q=x")
    {'gzip': 0.5, 'br': 1.0, 'deflate': 0.0}
    """
    quality: dict[str, float] = {}
    for item in header.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        quality[name] = _quality(parameters)
    return quality


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter.removeprefix("q="))
            except ValueError:
                return 0.0
    return 1.0
