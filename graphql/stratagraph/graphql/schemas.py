"""The JSON Schemas of contents and payloads, at /schemas/NAME.json, and the list of them at /schemas."""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stratagraph.graphql.failure import failure
from stratagraph.memory.requests.schemas import json_schema, schema_names

PATH = "/schemas"
_MEDIA_TYPE = "application/schema+json"
_KEPT_S = 3600  # seconds for which an answer may be kept: schemas change with the release only


def schema_routes() -> list[Route]:
    """Return the routes of the schemas. They say nothing of what is stored, so they need no credential."""
    return [Route(PATH, _listed, methods=["GET"]), Route(f"{PATH}/{{name}}.json", _shown, methods=["GET"])]


async def _listed(_: Request) -> Response:
    return _json(
        [{"name": name, "path": f"{PATH}/{name}.json", "title": json_schema(name)["title"]} for name in schema_names()]
    )


async def _shown(request: Request) -> Response:
    try:
        return _json(json_schema(request.path_params["name"]), _MEDIA_TYPE)
    except KeyError:
        known = ", ".join(schema_names())
        return failure(f"There is no schema of this name; there are {known}.", "NOT_FOUND", 404)


def _json(value: object, media_type: str = "application/json") -> Response:
    headers = {"Cache-Control": f"public, max-age={_KEPT_S}"}
    return Response(orjson.dumps(value), media_type=media_type, headers=headers)
