"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Tenant = Annotated[str, typer.Option("--tenant", help="Name of the tenant whose records are read or changed.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and no progress bar.")]
RecordId = Annotated[
    str, typer.Argument(metavar="RECORD_ID", help="Id of the record, a UUID as `ask --json` prints it.")
]
