"""`stratagraph token`: make, list and revoke API keys."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from stratagraph.service.cli.options import Json
from stratagraph.service.cli.output import folding_table, people, print_json, with_runtime
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.trust import RESERVED_NAMES, SINGLE_USER, Trust

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime

app = typer.Typer(
    help="Make, list and revoke API keys. A key fixes the caller's tenant, actor, access, highest sensitivity and"
    " scopes. A request can narrow these, but not widen them."
    "\n\nExample: stratagraph token create billing-agent --access write --scope project:billing",
    no_args_is_help=True,
)


@app.command()
def create(
    name: Annotated[
        str, typer.Argument(help="Name of the key, such as the agent's name. Audit logs show it as the actor.")
    ],
    access: Annotated[
        str,
        typer.Option(
            help="read; write, which can change and erase records; or admin, which can also erase scopes and tenants."
        ),
    ] = "read",
    max_sensitivity: Annotated[
        str, typer.Option(help="Highest sensitivity that the key may read in full: public, low, medium, high or hyper.")
    ] = "low",
    scope: Annotated[
        list[str] | None,
        typer.Option(help="A scope that the key may use, such as project:x. Repeat the option for more; '*' for all."),
    ] = None,
    tenant: Annotated[str, typer.Option(help="Name of the key's tenant; created if it does not exist.")] = "default",
    expires_in_days: Annotated[
        int | None, typer.Option(help="Days until the key expires, at least 1. Default: never.")
    ] = None,
    json: Json = False,
) -> None:
    """Make an API key and print its token. The token cannot be printed again, since only its hash is stored."""
    scopes = scope or []
    trust = Trust(
        tenant=tenant,
        actor=name,
        access=Access.parse(access, path=["--access"]),
        ceiling=Sensitivity.parse(max_sensitivity, path=["--max-sensitivity"]),
        scopes=None if "*" in scopes else frozenset(scopes),
    )
    if not name.strip() or not tenant.strip() or not all(one.strip() for one in scopes):
        raise InvalidInput(
            "NAME, --tenant and each --scope must not be empty; to write unscoped records, make the key with --scope"
            " '*'"
        )
    if not name.isprintable() or name.startswith(RESERVED_NAMES) or name == SINGLE_USER.actor:
        raise InvalidInput(
            f"NAME: {shown(name)} must be printable, and neither be {SINGLE_USER.actor} nor begin with"
            f" {' or '.join(RESERVED_NAMES)}, which name other callers and what the service has learned; choose another"
        )
    if expires_in_days is not None and expires_in_days < 1:
        raise InvalidInput(f"--expires-in-days: must be at least 1, not {expires_in_days}", path=["--expires-in-days"])
    expires_at = datetime.now(UTC) + timedelta(days=expires_in_days) if expires_in_days is not None else None

    async def work(runtime: Runtime) -> tuple[UUID, str]:
        return await runtime.credentials.create(trust, expires_at=expires_at)

    id_, token = with_runtime(work)
    if json:
        print_json({"id": id_, "token": token, "expires_at": expires_at})
        return
    people.print(f"[bold]{token}[/]", highlight=False, soft_wrap=True)
    people.print("Send it as [bold]Authorization: Bearer <token>[/]. It cannot be printed again.", highlight=False)


@app.command("list")
def list_(json: Json = False) -> None:
    """List the API keys, without their tokens."""

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
    table = folding_table("id", "name", "tenant", "access", "up to", "scopes", "state")
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
def revoke(key: Annotated[str, typer.Argument(help="Id of the key, as `stratagraph token list` prints it.")]) -> None:
    """Revoke an API key. The next request with it is refused."""

    async def work(runtime: Runtime) -> None:
        await runtime.credentials.revoke(parse_id(key, path=["key"]))

    with_runtime(work)
    people.print(f"{key} is revoked.", highlight=False)
