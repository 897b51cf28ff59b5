"""`stratagraph consolidate`: learn from closed episodes now, list the runs of learning, undo one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import Progress, TaskID

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant, Why
from stratagraph.service.cli.output import folding_table, minute, people, print_json, with_runtime
from stratagraph.service.cli.progress import progress_bar
from stratagraph.store.model.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from stratagraph.memory.learning.batches import BatchDone
    from stratagraph.memory.learning.follow_ups import Prepared
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
PREVIEWED = 1_000  # episodes of each group that a dry run learns from
SHOWN = 20  # runs listed at once
_PREPARED = {
    "links": "Linking earlier records",
    "changes": "Queueing changed records",
    "records": "Queueing existing records",
    "names": "Reading names",
}
_FOLLOW_UPS = {"duplicates": "Comparing records", "semantic-extractor": "Reading with the language model"}


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
    data = answer_to("ConsolidationRuns", {"first": first}, tenant=tenant)
    if json:
        print_json(data)
        return
    found = data["consolidationRuns"]["nodes"]
    if not found:
        people.print("Nothing has been learned yet.")
    for run in found:
        people.print(
            f"[bold]{run['id']}[/]  {minute(run['beganAt'])}  {run['state'].lower()}, {run['episodes']} episodes",
            highlight=False,
        )
        for group in run["groups"]:
            done = ", ".join(f"{one['name']} {one['outputs']}" for one in group["stages"] if one["outputs"])
            people.print(
                f"    {escape(group['scope'] or 'unscoped')}, {group['sensitivity'].lower()}: {group['episodes']}"
                f" episodes{'; records learned: ' + done if done else ''}"
                f"{'; undone by ' + escape(group['undoneBy']) if group['undoneBy'] else ''}",
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
    undone = 0
    while True:  # one request undoes for a while, and the next one what is left
        data = answer_to("UndoRun", {"input": {"id": id, "rationale": why}}, tenant=tenant)
        found = data["undoRun"]
        undone += found["undone"]
        if found["complete"]:
            break
    found["undone"] = undone
    if json:
        print_json(data)
        return
    people.print(f"The run is undone: {undone} records and relations were restored or retracted.")
    for one in found["kept"]:
        record = one["record"]
        people.print(
            f"  left as it is ({one['reason'].lower()}): {record['id']} {escape(record['name'] or '')}",
            highlight=False,
        )
    if found["keptTotal"] > len(found["kept"]):
        people.print(f"  and {found['keptTotal'] - len(found['kept'])} more")


@app.command()
def again(
    id: Annotated[str, typer.Argument(help="Id of a run that was undone.")],  # noqa: A002
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Let the next run learn again from the episodes of a run that was undone."""
    data = answer_to("LearnAgain", {"input": {"id": id}}, tenant=tenant)
    if json:
        print_json(data)
        return
    episodes = data["learnAgain"]["episodes"]
    people.print(f"{episodes} episodes are due again; `stratagraph consolidate` learns from them now.")


async def _consolidated(runtime: Runtime, stages: Sequence[str], progress: Progress) -> dict[str, Any]:
    from stratagraph.consolidation.jobs.consolidate import consolidate_now

    _require_stages(runtime, stages)
    shown = _Shown(progress)
    due, waiting = await runtime.learning.due(runtime.learning.now(), stages)
    shown.begins(due)
    done = await consolidate_now(runtime.jobs, runtime.learning, stages, progress=shown)
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
    """The progress of learning as bars: one for what is looked for, one for the episodes, one for each follow-up."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._episodes = progress.add_task("Learning from episodes", total=None)
        self._prepared: tuple[str, TaskID, int] | None = None  # what is looked for at present, its bar, how far it is
        self._follow_ups: dict[str, tuple[TaskID, int]] = {}  # by name, with the most that was left to do

    def begins(self, due: int) -> None:
        """Note the number of episodes that are due."""
        self._progress.update(self._episodes, total=due)

    def prepared(self, step: Prepared) -> None:
        if self._prepared is None or self._prepared[0] != step.what:
            if self._prepared is not None:
                self._progress.remove_task(self._prepared[1])
            self._prepared = (step.what, self._progress.add_task(_PREPARED[step.what], total=step.done + step.left), 0)
        what, task, before = self._prepared
        done = before + step.done
        self._prepared = (what, task, done)
        self._progress.update(task, total=done + step.left, completed=done)

    def learned(self, batch: BatchDone) -> None:
        self._progress.advance(self._episodes, batch.episodes + batch.set_aside)

    def remains(self, waiting: Mapping[str, int]) -> None:
        for name, left in waiting.items():
            if name not in self._follow_ups:
                if not left:
                    continue
                self._follow_ups[name] = (self._progress.add_task(_FOLLOW_UPS.get(name, name), total=left), left)
            task, most = self._follow_ups[name]
            self._follow_ups[name] = (task, max(most, left))
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
