"""`stratagraph jobs`: the background jobs, their last and next runs, and the rows that they set aside."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column

from stratagraph.service.cli.options import Json
from stratagraph.service.cli.output import folding_table, people, print_json, with_runtime
from stratagraph.store.model.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime
    from stratagraph.store.jobs.leases import JobState
    from stratagraph.store.search.embeddings import EmbeddingModel

app = typer.Typer(
    help="Background jobs: closing silent episodes, pruning, counting words and so on. Servers started with"
    " `stratagraph serve` (all parts, or `--only jobs`) run each job on its own schedule, one server at a time.",
    no_args_is_help=True,
)
SHOWN = 200  # rows that are set aside, listed at once
_QUEUES = {  # that a job takes its work from
    "close-episodes": ("due_episodes",),
    "consolidate": ("unlearned_episodes", "records_to_compare"),
    "link-names": ("entities_to_link",),
    "reevaluate": ("reevaluations",),
    "retry-captures": ("failed_captures",),
}


@app.command("list")
def list_(json: Json = False) -> None:
    """List every job with its last run, what that run did, what waits for it (up to 10,000), and its next run."""

    found = with_runtime(_listed, makes_store=False)
    if json:
        print_json(found)
        return
    table = folding_table(Column("job", no_wrap=True), "every", "last run", "result", "next run")
    for one in found:
        result = one["error"] or ", ".join(f"{name} {count}" for name, count in one["result"].items() if count) or "–"
        aside = f"; {one['set_aside']} set aside" if one["set_aside"] else ""
        waiting = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in one["waiting"].items() if count)
        table.add_row(
            one["name"],
            f"{one['interval_s']:g} s",
            f"{one['finished_at']:%m-%d %H:%M:%S}" if one["finished_at"] else "never",
            result + aside + (f"; waiting: {waiting}" if waiting else ""),
            _next_run(one),
        )
    people.print(table)
    for model in next((one["embedding"] for one in found if "embedding" in one), ()):
        people.print(
            f"Vectors of {model['model']} ({model['dimensions']} dimensions): {model['state']},"
            f" {model['looked_at']:,} of {model['records']:,} records looked at."
        )


async def _listed(runtime: Runtime) -> list[dict[str, Any]]:
    from stratagraph.memory.embedding.filling import JOB as EMBED
    from stratagraph.store.jobs.queues import count_queues
    from stratagraph.store.search.embeddings import list_models

    await runtime.jobs.leases.register({name: job.config.first_pause_s for name, job in runtime.jobs.jobs.items()})
    states = {state.name: state for state in await runtime.jobs.leases.states()}
    queues = await count_queues(runtime.database)
    embedding = [_progress(one) for one in await list_models(runtime.database)]
    return [
        {**_as_json(states[name]), "summary": job.summary, "interval_s": job.config.interval_s}
        | {"waiting": {queue: queues[queue] for queue in _QUEUES.get(name, ())}}
        | ({"embedding": embedding} if name == EMBED else {})
        for name, job in runtime.jobs.jobs.items()
    ]


@app.command("run")
def run_(
    name: Annotated[str, typer.Argument(help="The job's name, as `stratagraph jobs list` shows it.")],
    json: Json = False,
) -> None:
    """Run one job now, whether it is due or not, and print what it did. Exits with 1 if the run failed."""

    async def work(runtime: Runtime) -> dict[str, Any]:
        _require_job(runtime, name)
        run = await runtime.jobs.run_once(name)
        if run is None:
            raise StoreUnavailable(f"Another server is running {name} at this moment; try again when it has finished.")
        return {"job": run.job, "result": dict(run.counts), "error": run.error, "took_s": round(run.took_s, 3)}

    found = with_runtime(work)
    if json:
        print_json(found)
    elif found["error"] is None:
        counts = ", ".join(f"{name} {count}" for name, count in found["result"].items())
        people.print(f"{found['job']} ran in {found['took_s']:.2f} s: {counts}.")
    else:
        people.print(f"{found['job']} failed after {found['took_s']:.2f} s: {found['error']}.")
    if found["error"] is not None:
        raise typer.Exit(1)


@app.command("set-aside")
def set_aside(
    job: Annotated[str | None, typer.Option("--job", help="Only the rows of this job.")] = None,
    json: Json = False,
) -> None:
    """List the rows that jobs could not process: the stage that failed, why, and when each is tried again."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        from stratagraph.store.jobs.set_aside import list_set_aside
        from stratagraph.store.postgres.database import Role

        if job is not None:
            _require_job(runtime, job)
        async with runtime.database.background(Role.JOBS) as connection:
            return [asdict(row) for row in await list_set_aside(connection, job=job, limit=SHOWN)]

    found = with_runtime(work, makes_store=False)
    if json:
        print_json(found)
        return
    if not found:
        people.print("No rows are set aside.")
        return
    for one in found:
        stage = f" {one['stage']}" if one["stage"] else ""
        people.print(f"{one['job']}{stage}  {one['id']}  {one['error']}", soft_wrap=True, highlight=False)
        people.print(f"    attempt {one['attempts']}, not tried before {one['next_try_at']:%Y-%m-%d %H:%M:%S}")


def _require_job(runtime: Runtime, name: str) -> None:
    if name not in runtime.jobs.jobs:
        raise InvalidInput(
            f"NAME: there is no job {name!r}; choose one of {', '.join(sorted(runtime.jobs.jobs))}", path=["name"]
        )


def _progress(model: EmbeddingModel) -> dict[str, Any]:
    return {
        "model": model.name,
        "dimensions": model.dimensions,
        "state": model.state.name.lower(),
        "records": max(model.records, model.looked_at),
        "looked_at": model.looked_at,
        "filled_at": model.filled_at,
    }


def _next_run(one: dict[str, Any]) -> str:
    if one["is_running"]:
        return "running"
    return f"{one['next_run_at']:%m-%d %H:%M:%S}" if one["next_run_at"] is not None else "paused"


def _as_json(state: JobState) -> dict[str, Any]:
    found = asdict(state)
    del found["overdue_s"]  # negative while nothing is wrong; `health` reports it otherwise
    return found
