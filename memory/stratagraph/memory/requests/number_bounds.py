"""The bounds of numbers in requests."""

from __future__ import annotations

from stratagraph.store.model.errors import InvalidInput


def check_between(name: str, value: float, least: int, most: int) -> None:
    """Raise InvalidInput, whose path is the argument `name`, unless `value` is from `least` to `most`."""
    if not least <= value <= most:
        raise InvalidInput(
            f"{name}: {value} is not between {least} and {most}; choose a number in that range", path=[name]
        )
