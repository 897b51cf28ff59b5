"""`stratagraph keys`: make a master key, list the keys of encryption at rest, rotate them."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratagraph.service.cli.options import Json
from stratagraph.service.cli.output import folding_table, people, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar
from stratagraph.store.keys.sealing.master import MasterKey, from_file, from_hook
from stratagraph.store.keys.sealing.master import generate as new_master_key
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.errors import InvalidInput, Misconfigured

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime
    from stratagraph.store.records.key_rotation import Rotated, Rotation

app = typer.Typer(
    help="Make a master key, list the keys that encrypt records at rest, and rotate them. docs/security.md explains"
    " the keys.",
    no_args_is_help=True,
)
_HOOK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
KINDS = ("records", "history", "notes", "candidates", "artifacts")


@app.command()
def generate() -> None:
    """Print a new master key for STRATAGRAPH_MASTER_KEY or a key file. Store it apart from the database's backups."""
    typer.echo(new_master_key())


@app.command("list")
def list_(json: Json = False) -> None:
    """List the data keys of each tenant: age, the master key that wraps each, and the rows that each encrypts."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        return [asdict(use) for use in await _rotation(runtime).list_keys()]

    uses = with_runtime(work, makes_store=False)
    if json:
        print_json(uses)
        return
    table = folding_table("tenant", "key", "age", "wrapped by", *KINDS, "state")
    now = datetime.now(UTC)
    for use in uses:
        table.add_row(
            use["tenant"],
            str(use["id"]),
            f"{(now - use['created_at']).days} days",
            use["wrapped_by"],
            *(str(use["rows"].get(kind, 0)) for kind in KINDS),
            "newest" if use["newest"] else "old; `stratagraph keys rotate` replaces it",
        )
    people.print(table)
    if not uses:
        people.print("No keys yet: a tenant's first key is made when its first record to be encrypted is stored.")


@app.command()
def rotate(
    tenant: Annotated[
        str | None, typer.Option(help="Rotate only this tenant's data keys. Default: those of all tenants.")
    ] = None,
    master_from: Annotated[
        str | None,
        typer.Option(
            help="Exchange the master key instead: the file of the previous one, or its module:factory. The settings"
            " give the new one. Setting STRATAGRAPH_PREVIOUS_MASTER_KEY has the same effect."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make a new data key for each tenant and encrypt its rows with it. Services may run during the rotation.

    After an interruption, run the command again to continue. Rows that the settings want encrypted, but that are not,
    are encrypted too. Exchanging the master key keeps the data keys and wraps them with the new master key.
    """
    import asyncio

    from stratagraph.service.logs import set_up_logs
    from stratagraph.service.settings import Settings

    settings = Settings.load()
    set_up_logs(settings.log_level if settings.log_level != "info" else "warning")
    previous = _previous(master_from)
    exchange = previous is not None or settings.previous_master_key is not None
    if exchange and tenant is not None:
        raise InvalidInput(
            "--tenant: all tenants share one master key. Leave --tenant out to exchange it, or unset"
            " STRATAGRAPH_PREVIOUS_MASTER_KEY to rotate the tenant's data keys",
            path=["--tenant"],
        )

    async def run() -> int | list[Rotated]:
        from stratagraph.service.runtime import open_runtime

        async with open_runtime(settings, previous_master=previous) as runtime:
            return await (_exchange(runtime, quiet=json) if exchange else _rotate(runtime, tenant, quiet=json))

    done = asyncio.run(run())
    if isinstance(done, int):
        if json:
            print_json({"rewrapped": done})
        else:
            people.print(f"{done} keys are now wrapped by the new master key. The previous one is no longer needed.")
        return
    if json:
        print_json([asdict(rotated) for rotated in done])
        return
    for rotated in done:
        started = "continued with" if rotated.continued else "made"
        people.print(
            f"{rotated.tenant}: {started} key {rotated.key}, encrypted {rotated.resealed} rows, deleted"
            f" {rotated.dropped} old keys",
            highlight=False,
        )
    if not done:
        people.print("There is no key to rotate, since no row is encrypted.")


async def _rotate(runtime: Runtime, name: str | None, *, quiet: bool) -> list[Rotated]:
    rotation = _rotation(runtime)
    tenants = await rotation.tenants(name)
    if name is not None and not tenants:
        raise InvalidInput(
            f"--tenant: there is no tenant {name!r}; `stratagraph keys list` prints the names of the tenants with keys",
            path=["--tenant"],
        )
    if runtime.directory.vault.master is None:
        raise _no_master_key()
    waiting = [(tenant, await rotation.count_rows_to_seal(tenant)) for tenant in tenants]
    done = []
    with progress_bar(quiet, stays=True) as progress:
        for tenant, rows in waiting:
            if rows is None:
                continue
            task = progress.add_task(f"rows of {tenant.name}", total=rows)
            done.append(await rotation.rotate(tenant, lambda count, task=task: progress.advance(task, count)))  # type: ignore[misc]
    return done


async def _exchange(runtime: Runtime, *, quiet: bool) -> int:
    if runtime.directory.vault.master is None:
        raise _no_master_key()
    with progress_bar(quiet, stays=True) as progress:
        task = progress.add_task("keys", total=None)
        return await _rotation(runtime).rewrap(lambda count: progress.advance(task, count))


def _rotation(runtime: Runtime) -> Rotation:
    from stratagraph.store.records.key_rotation import Rotation

    return Rotation(runtime.database, runtime.directory, SystemClock())


def _previous(given: str | None) -> MasterKey | None:
    if given is None:
        return None
    if _HOOK.fullmatch(given) and not Path(given).exists():
        return from_hook(given, where="--master-from")
    return from_file(Path(given), where="--master-from")


def _no_master_key() -> Misconfigured:
    return Misconfigured("No master key is set. Set STRATAGRAPH_MASTER_KEY; `stratagraph keys generate` makes one.")
