"""`stratagraph token`: keys for those who call the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from stratagraph.service.cli.output import people, print_json, with_runtime
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.trust import Trust

app = typer.Typer(
    help="Make, list and revoke API keys. A key fixes tenant, actor, access, highest sensitivity and scopes; a request"
    " can narrow that, never widen it.",
    no_args_is_help=True,
)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="For people, and the actor in audit logs: the agent's name.")],
    access: Annotated[str, typer.Option(help="read, write or admin.")] = "read",
    max_sensitivity: Annotated[str, typer.Option(help="public, low, medium, high or hyper.")] = "low",
    scope: Annotated[
        list[str] | None, typer.Option(help="A scope it may see, such as project:x; may be repeated. '*' for all.")
    ] = None,
    tenant: Annotated[str, typer.Option(help="Whose memories; made if new.")] = "default",
    expires_in_days: Annotated[int | None, typer.Option(help="Default: never.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Make a key and print its token, this once: only a hash of it is kept."""
    scopes = scope or []
    trust = Trust(
        tenant=tenant,
        actor=name,
        access=Access.parse(access, path=["--access"]),
        ceiling=Sensitivity.parse(max_sensitivity, path=["--max-sensitivity"]),
        scopes=None if "*" in scopes else frozenset(scopes),
    )
    if not name.strip() or not tenant.strip() or not all(one.strip() for one in scopes):
        raise InvalidInput("name, tenant and scopes must not be empty; only a key with --scope '*' writes unscoped")
    if not name.isprintable() or name.startswith("oidc:"):
        raise InvalidInput("name: must be printable, and oidc: is kept for those who come with a token of theirs")
    if expires_in_days is not None and expires_in_days < 1:
        raise InvalidInput("--expires-in-days: at least 1", path=["--expires-in-days"])
    expires_at = datetime.now(UTC) + timedelta(days=expires_in_days) if expires_in_days is not None else None

    async def work(runtime: Runtime) -> tuple[UUID, str]:
        return await runtime.credentials.create(trust, expires_at=expires_at)

    id_, token = with_runtime(work)
    if json:
        print_json({"id": id_, "token": token, "expires_at": expires_at})
        return
    people.print(f"[bold]{token}[/]", highlight=False, soft_wrap=True)
    people.print("Send it as [bold]Authorization: Bearer <token>[/]. It is not shown again.", highlight=False)


@app.command("list")
def list_(json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """List the keys, without their secrets."""

    async def work(runtime: Runtime) -> list[dict[str, object]]:
        return [
            {
                "id": key.id,
                "name": key.name,
                "tenant": key.tenant,
                "access": key.access.label,
                "max_sensitivity": key.ceiling.label,
                "scopes": ["*"] if key.scopes is None else list(key.scopes),
                "created_at": key.created_at,
                "expires_at": key.expires_at,
                "revoked_at": key.revoked_at,
            }
            for key in await runtime.credentials.all()
        ]

    keys = with_runtime(work)
    if json:
        print_json(keys)
        return
    table = Table("id", "name", "tenant", "access", "up to", "scopes", "state")
    now = datetime.now(UTC)
    for key in keys:
        expires = key["expires_at"]
        expired = isinstance(expires, datetime) and expires <= now
        state = "revoked" if key["revoked_at"] else "expired" if expired else "valid"
        scopes = key["scopes"]
        assert isinstance(scopes, list)
        table.add_row(
            *(str(key[name]) for name in ("id", "name", "tenant", "access", "max_sensitivity")),
            ", ".join(scopes) or "(unscoped only)",
            state,
        )
    people.print(table)


@app.command()
def revoke(key: Annotated[str, typer.Argument(help="The key's id, from `stratagraph token list`.")]) -> None:
    """Make a key worthless from the next request on."""

    async def work(runtime: Runtime) -> None:
        await runtime.credentials.revoke(parse_id(key, path=["key"]))

    with_runtime(work)
    people.print(f"{key} is revoked.", highlight=False)
