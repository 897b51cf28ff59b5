"""`stratagraph consolidate`: learn from closed episodes now, list the runs of learning, undo one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import Progress, TaskID

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import folding_table, instant, people, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.errors import InvalidInput, StoreUnavailable
from stratagraph.store.model.ids import parse_id

if TYPE_CHECKING:
    from stratagraph.memory.learning.batches import BatchDone
    from stratagraph.memory.learning.runs import ConsolidationRun, StageDone, Undone
    from stratagraph.service.runtime import Runtime

app = typer.Typer(
    help="Learn from closed episodes now: keep summaries, learn facts, skills and plans. A server does this by itself"
    " every six hours. Each run leaves a report, and can be undone. docs/learning.md describes the stages.",
    invoke_without_command=True,
)
Stages = Annotated[
    list[str] | None,
    typer.Option("--stage", help="Only this stage; repeat for several. The others learn from the episodes later."),
]
Why = Annotated[str, typer.Option("--why", help="The reason, which the audit log of each record keeps.")]
PREVIEWED = 1_000  # episodes of each group that a dry run learns from
SHOWN = 20  # runs listed at once
_SWEEPS = {"duplicates": "Comparing records", "semantic-extractor": "Reading with the language model"}


@app.callback()
def consolidate(
    context: typer.Context,
    stage: Stages = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help=f"Report what would be learned from the first {PREVIEWED:,} episodes of each group; change nothing.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Learn from all episodes that are due, with a progress bar, and print what was learned."""
    if context.invoked_subcommand is not None:
        return
    stages = tuple(stage or ())
    if dry_run:
        found = with_runtime(lambda runtime: _previewed(runtime, stages))
    else:
        with progress_bar(json) as progress:
            found = with_runtime(lambda runtime: _consolidated(runtime, stages, progress))
    if json:
        print_json(found)
    else:
        _print_done(found)


@app.command()
def runs(tenant: Tenant = "default", first: int = SHOWN, json: Json = False) -> None:
    """List the newest runs of learning, with what each stage did."""
    found = answer_to("consolidation runs", {"tenant": tenant, "first": first})["document"]
    if json:
        print_json(found)
        return
    if not found:
        people.print("Nothing has been learned yet.")
    for run in found:
        when = f"{instant(run['began_at']):%Y-%m-%d %H:%M}"
        people.print(
            f"[bold]{run['id']}[/]  {when}  {run['state']}, {run['episodes']} episodes",
            highlight=False,
        )
        for group in run["groups"]:
            done = ", ".join(f"{one['name']} {one['outputs']}" for one in group["stages"] if one["outputs"])
            people.print(
                f"    {group['scope'] or 'unscoped'}, {group['sensitivity']}: {group['episodes']} episodes"
                f"{'; records learned: ' + done if done else ''}"
                f"{'; undone by ' + group['undone_by'] if group['undone_by'] else ''}",
                highlight=False,
            )


@app.command()
def undo(
    id: Annotated[str, typer.Argument(help="Id of the run, as `consolidate runs` lists it.")],  # noqa: A002
    why: Why,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Undo a run: what it created is retracted, what it changed is restored, except what was changed since.

    Its episodes are not learned from again, unless `consolidate again` says so.
    """
    run = parse_id(id, path=["ID"])

    async def work(runtime: Runtime) -> dict[str, Any]:
        from stratagraph.service.cli.tenants import reader_of

        trust = await reader_of(runtime, tenant)
        return undone_json(await runtime.runs.undo(trust, run, rationale=why, within_s=None))

    found = with_runtime(work)
    if json:
        print_json(found)
        return
    people.print(f"The run is undone: {found['undone']} records and relations were restored or retracted.")
    for one in found["kept"]:
        people.print(f"  left as it is ({one['reason']}): {one['id']} {escape(one['name'] or '')}", highlight=False)
    if found["kept_total"] > len(found["kept"]):
        people.print(f"  and {found['kept_total'] - len(found['kept'])} more")


@app.command()
def again(
    id: Annotated[str, typer.Argument(help="Id of a run that was undone.")],  # noqa: A002
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Let the next run learn again from the episodes of a run that was undone."""
    run = parse_id(id, path=["ID"])

    async def work(runtime: Runtime) -> dict[str, Any]:
        from stratagraph.service.cli.tenants import reader_of

        return {"id": run, "episodes": await runtime.runs.learn_again(await reader_of(runtime, tenant), run)}

    found = with_runtime(work)
    if json:
        print_json(found)
        return
    people.print(f"{found['episodes']} episodes are due again; `stratagraph consolidate` learns from them now.")


async def listed(runtime: Runtime, given: Mapping[str, Any]) -> dict[str, Any]:
    """Answer `consolidate runs`."""
    from stratagraph.service.cli.tenants import reader_of

    page = await runtime.runs.page(await reader_of(runtime, given["tenant"]), first=given["first"])
    return {"document": [run_json(run) for run in page.runs]}


async def _consolidated(runtime: Runtime, stages: Sequence[str], progress: Progress) -> dict[str, Any]:
    from stratagraph.consolidation.jobs.consolidate import consolidate_now

    _require_stages(runtime, stages)
    due, waiting = await runtime.learning.due(runtime.learning.now(), stages)
    done = await consolidate_now(runtime.jobs, runtime.learning, stages, progress=_Shown(progress, due))
    if done is None:
        raise StoreUnavailable("Another server is learning at this moment; try again when it has finished.")
    return {"dry_run": False, "waiting_for_outcome": waiting, **_batches_json(done)}


async def _previewed(runtime: Runtime, stages: Sequence[str]) -> dict[str, Any]:
    _require_stages(runtime, stages)
    now = runtime.learning.now()
    due, waiting = await runtime.learning.due(now, stages)
    done = await runtime.learning.preview(now, stages, most=PREVIEWED)
    return {"dry_run": True, "due": due, "waiting_for_outcome": waiting, **_batches_json(done)}


def _require_stages(runtime: Runtime, stages: Sequence[str]) -> None:
    known = runtime.learning.names
    for name in stages:
        if name not in known:
            raise InvalidInput(f"--stage: there is no stage {name!r}; choose from {', '.join(known)}", path=["--stage"])


class _Shown:
    """The progress of learning as bars: one for the episodes, and one for each sweep that has anything to do."""

    def __init__(self, progress: Progress, due: int) -> None:
        self._progress = progress
        self._episodes = progress.add_task("Learning from episodes", total=due)
        self._sweeps: dict[str, tuple[TaskID, int]] = {}  # by name, with the most that was left to do

    def learned(self, batch: BatchDone) -> None:
        self._progress.advance(self._episodes, batch.episodes + batch.set_aside)

    def remains(self, waiting: Mapping[str, int]) -> None:
        for name, left in waiting.items():
            if name not in self._sweeps:
                if not left:
                    continue
                self._sweeps[name] = (self._progress.add_task(_SWEEPS.get(name, name), total=left), left)
            task, most = self._sweeps[name]
            self._sweeps[name] = (task, max(most, left))
            self._progress.update(task, total=max(most, left), completed=max(0, most - left))


def _batches_json(done: Sequence[BatchDone]) -> dict[str, Any]:
    """Return the batches of a run added up: episodes, and the report of each stage."""
    from stratagraph.memory.learning.stage import StageReport

    totals: dict[str, StageReport] = {}
    for batch in done:
        for name, report in batch.stages.items():
            totals[name] = totals.get(name, StageReport()) + report
    return {
        "run": next((batch.run for batch in done), None),
        "episodes": sum(batch.episodes for batch in done),
        "set_aside": sum(batch.set_aside for batch in done),
        "groups": len({batch.group for batch in done}),
        "stages": [{"name": name, **report.as_json()} for name, report in totals.items()],
    }


def _print_done(found: Mapping[str, Any]) -> None:
    would = "would be" if found["dry_run"] else "were"
    if not found["episodes"] and not found["set_aside"] and not found.get("due"):
        people.print("No episodes are due.")
    else:
        groups = "one scope and sensitivity" if found["groups"] == 1 else f"{found['groups']} scopes and sensitivities"
        people.print(f"{found['episodes']} episodes of {groups} {would} learned from.")
    if found["stages"]:
        table = folding_table("stage", "looked at", "learned", "reinforced or merged", "left out", "cost")
        for one in found["stages"]:
            table.add_row(
                one["name"],
                str(one["inputs"]),
                str(one["outputs"]),
                str(one["merges"]),
                ", ".join(f"{count} {reason}" for reason, count in one["skips"].items()) or "–",
                ", ".join(f"{amount:g} {unit}" for unit, amount in one["cost"].items()) or "–",
            )
        people.print(table)
    if found["set_aside"]:
        people.print(f"{found['set_aside']} episodes were set aside; `stratagraph jobs set-aside` lists them.")
    if found["waiting_for_outcome"]:
        people.print(f"{found['waiting_for_outcome']} closed episodes wait up to six hours for their outcome.")
    if found["dry_run"]:
        if found["due"] > found["episodes"]:
            people.print(
                f"{found['due']} episodes are due; the dry run looked at the first of each group, and at fewer where"
                " others were writing."
            )
        people.print("Nothing was changed.")
    elif found["run"] is not None:
        people.print(f"To undo it: stratagraph consolidate undo {found['run']} --why REASON", highlight=False)


def run_json(run: ConsolidationRun) -> dict[str, Any]:
    """Return a run as JSON."""
    return {
        "id": run.id,
        "state": run.state.value,
        "began_at": rfc3339(run.began_at),
        "updated_at": rfc3339(run.updated_at),
        "episodes": run.episodes,
        "set_aside": run.set_aside,
        "stages": [_stage_json(stage) for stage in run.stages],
        "groups": [
            {
                "scope": group.scope,
                "sensitivity": group.sensitivity.label,
                "episodes": group.episodes,
                "set_aside": group.set_aside,
                "stages": [_stage_json(stage) for stage in group.stages],
                "undone_at": rfc3339(group.undone_at) if group.undone_at else None,
                "undone_by": group.undone_by,
            }
            for group in run.groups
        ],
    }


def undone_json(undone: Undone) -> dict[str, Any]:
    """Return the result of undoing a run as JSON."""
    return {
        "run": run_json(undone.run),
        "undone": undone.undone,
        "kept": [{"id": record.id, "name": record.name, "reason": why.name.lower()} for record, why in undone.kept],
        "kept_total": undone.kept_in_all,
        "complete": undone.is_complete,
    }


def _stage_json(stage: StageDone) -> dict[str, Any]:
    return {"name": stage.name, **stage.report.as_json(), "seconds": stage.seconds}
