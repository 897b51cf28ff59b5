"""The progress bar of commands that know how much there is to do."""

from __future__ import annotations

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from stratagraph.service.cli.output import errors


def progress_bar(quiet: bool, *, stays: bool = False) -> Progress:
    """Return a progress bar on standard error, which shows nothing if `quiet`, and `stays` there at its end or not."""
    return Progress(
        SpinnerColumn(),  # moves while one step takes long
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=errors,
        disable=quiet,
        transient=not stays,
    )
